// TORCH_LIBRARY: operators and kernels that an extension registers, and operators that it calls by name.
#ifndef TL_TORCH_LIBRARY_HPP
#define TL_TORCH_LIBRARY_HPP

#include <tl/torch/aten.hpp>
#include <tl/torch/headeronly.hpp>
#include <tl/torch/objects.hpp>

namespace c10 {
TL_FACE {
  enum class DispatchKey : uint16_t {
    Undefined,
    CPU,
    CUDA,
    Meta,
    XPU,
    MPS,
    PrivateUse1,
    Autograd,
    AutogradCPU,
    AutogradCUDA,
    AutogradMeta,
    AutogradPrivateUse1,
    CompositeImplicitAutograd,
    CompositeExplicitAutograd,
    CompositeExplicitAutogradNonFunctional,
    Autocast,
    AutocastCPU,
    AutocastCUDA,
    BackendSelect,
    QuantizedCPU,
    QuantizedCUDA,
    SparseCPU,
    SparseCUDA,
    ADInplaceOrView,
    Python,
    Functionalize,
    CatchAll
  };
  inline const char* toString(DispatchKey k) {
    static const char* const names[] = {"",
                                        "CPU",
                                        "CUDA",
                                        "Meta",
                                        "XPU",
                                        "MPS",
                                        "PrivateUse1",
                                        "Autograd",
                                        "AutogradCPU",
                                        "AutogradCUDA",
                                        "AutogradMeta",
                                        "AutogradPrivateUse1",
                                        "CompositeImplicitAutograd",
                                        "CompositeExplicitAutograd",
                                        "CompositeExplicitAutogradNonFunctional",
                                        "AutocastCPU",
                                        "AutocastCPU",
                                        "AutocastCUDA",
                                        "BackendSelect",
                                        "QuantizedCPU",
                                        "QuantizedCUDA",
                                        "SparseCPU",
                                        "SparseCUDA",
                                        "ADInplaceOrView",
                                        "Python",
                                        "Functionalize",
                                        "CompositeImplicitAutograd"};
    return names[int(k)];
  }
  inline std::ostream& operator<<(std::ostream& out, DispatchKey k) { return out << toString(k); }
  struct DispatchKeySet {
    uint64_t bits = 0;
    DispatchKeySet() = default;
    DispatchKeySet(DispatchKey k) : bits(uint64_t(1) << int(k)) {}
    bool has(DispatchKey k) const { return bits >> int(k) & 1; }
  };

  namespace face {
  // The functions of Python that hold the registry: the same as for binaries of PyTorch's stable interface.
  // They store an error until the library is loaded, because static objects register.
  inline ::tl::PyRef call_registry(const char* function, const char* format, ...) {
    va_list values;
    va_start(values, format);
    ::tl::PyRef args(Py_VaBuildValue(format, values));
    va_end(values);
    if (!args) at::face::raise_python();
    const auto module = at::face::checked(PyImport_ImportModule("tl_core.extensions.stable_registrations"));
    const auto f = at::face::checked(PyObject_GetAttrString(module.get(), function));
    return at::face::checked(PyObject_CallObject(f.get(), args.get()));
  }
  // Stores an exception for `load`, `load_library` or the next import.
  [[gnu::cold]] inline void store_error(PyObject* exception) {
    const ::tl::PyRef module(PyImport_ImportModule("tl_core.extensions.stable_abi"));
    const ::tl::PyRef errors(module ? PyObject_GetAttrString(module.get(), "errors") : nullptr);
    if (errors && exception) PyList_Append(errors.get(), exception);
    PyErr_Clear();
  }
  // An error of a static object's construction must not pass: the registry stores it.
  template <class F>
  void guard(F&& f) noexcept {
    try {
      api();
    } catch (const LoadError& e) {
      if (!Py_IsInitialized()) return;
      ::tl::WithGil gil;
      store_error(::tl::PyRef(PyObject_CallFunction(PyExc_ImportError, "s", e.what())).get());
      return;
    }
    if (guarded(f) == 0) return;
    ::tl::WithGil gil;
    python().raise_pending();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    store_error(value);
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
  }
  }  // namespace face

  // An operator that is called by its name.
  class OperatorHandle {
   public:
    OperatorHandle(std::string name, const TlOperator* op) : name_(std::move(name)), op_(op) {}
    const TlOperator* handle() const {
      if (!op_) op_ = face::check(face::api().op_find(name_.c_str()));
      return op_;
    }
    const std::string& name() const { return name_; }
    template <class F>
    auto typed() const;
    void callBoxed(Stack* stack) const { face::call_boxed(handle(), *stack); }
    void callBoxed(Stack& stack) const { face::call_boxed(handle(), stack); }

   private:
    std::string name_;
    mutable const TlOperator* op_;
  };
  template <class F>
  class TypedOperatorHandle;
  template <class R, class... A>
  class TypedOperatorHandle<R(A...)> : public OperatorHandle {
   public:
    explicit TypedOperatorHandle(const OperatorHandle& o) : OperatorHandle(o) {}
    R call(A... a) const { return face::call_typed<R>(handle(), a...); }
    R redispatch(DispatchKeySet, A... a) const { return call(a...); }
  };
  template <class F>
  auto OperatorHandle::typed() const {
    return TypedOperatorHandle<F>(*this);
  }
  // A kernel on the stack. Its context is the operator.
  template <auto* F>
  struct Boxed {
    static int call(void* context, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
      return face::guarded([&] {
        const auto& op = *static_cast<const OperatorHandle*>(context);
        Stack stack;
        for (int i = 0; i < n_args; ++i) stack.push_back(face::ivalue_of(args[i]));
        if constexpr (std::is_invocable_v<decltype(F), const OperatorHandle&, DispatchKeySet, Stack*>)
          F(op, {}, &stack);
        else
          F(op, &stack);
        if (stack.size() != size_t(n_rets))
          face::fail<Error>("", op.name(), ": the boxed kernel left ", stack.size(),
                            " values on the stack, expected ", n_rets);
        const TlOperatorInfo& info = *face::api().op_info(op.handle());
        for (int i = 0; i < n_rets; ++i)
          rets[i] = face::value_of(stack[size_t(i)], tl_argument(&face::extension(), info.rets, i)->kind);
      });
    }
  };
  class Dispatcher {
   public:
    static Dispatcher& singleton() {
      static Dispatcher dispatcher;
      return dispatcher;
    }
    static Dispatcher& realSingleton() { return singleton(); }
    std::optional<OperatorHandle> findSchema(const std::string& name,
                                             const std::string& overload = "") const {
      std::string full = name.compare(0, 6, "aten::") == 0 ? name.substr(6) : name;
      if (!overload.empty()) full += "." + overload;
      const TlOperator* op = face::api().op_find(full.c_str());
      if (op) return OperatorHandle(full, op);
      face::api().error_clear();
      return std::nullopt;
    }
    OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
      auto found = findSchema(name, overload);
      if (!found)
        face::fail<Error>("", "Could not find schema for ", name, *overload ? "." : "", overload, ".");
      return *found;
    }
  };
}
}  // namespace c10

namespace torch {
TL_FACE {
  using c10::DispatchKey;
  // A kernel: a function, a lambda without captures, or a function on the stack.
  class CppFunction {
   public:
    CppFunction() = default;
    template <class F, class = std::enable_if_t<c10::face::is_function<std::decay_t<F>>>>
    CppFunction(F f) {
      using Wrapped = c10::face::Wrapped<std::decay_t<F>>;
      call = &Wrapped::call;
      context = Wrapped::context(f);
      schema = Wrapped::Signature::schema();
    }
    static CppFunction makeFallthrough() {
      CppFunction f;
      f.falls_through = true;
      return f;
    }
    template <auto* F>
    static CppFunction makeFromBoxedFunction() {
      CppFunction f;
      f.call = &c10::Boxed<F>::call;
      f.takes_stack = true;
      return f;
    }
    template <class F>
    static CppFunction makeFromUnboxedFunction(F* f) {
      return CppFunction(f);
    }
    CppFunction& debug(std::string) & { return *this; }
    CppFunction&& debug(std::string) && { return std::move(*this); }

    TlCall call = nullptr;
    void* context = nullptr;
    std::string schema;
    c10::DispatchKey key = c10::DispatchKey::Undefined;
    bool falls_through = false, takes_stack = false;
  };
  template <class F>
  CppFunction dispatch(c10::DispatchKey key, F && f) {
    CppFunction c(std::forward<F>(f));
    c.key = key;
    return c;
  }
  template <class F>
  CppFunction dispatch(c10::DeviceType type, F && f) {
    return dispatch(type == c10::kCUDA ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU, std::forward<F>(f));
  }
  struct Schema {
    std::string text;
  };
  inline Schema schema(const char* text) { return {text}; }

  template <class T>
  class class_;

  class Library {
   public:
    enum Kind { DEF, IMPL, FRAGMENT };
    Library(Kind kind, std::string ns, std::string key, const char*, uint32_t)
        : kind_(kind == DEF    ? "DEF"
                : kind == IMPL ? "IMPL"
                               : "FRAGMENT"),
          ns_(std::move(ns)),
          key_(std::move(key)) {
      if (ns_ == "_") ns_ = "";
      registry("begin", "sss", ns_.c_str(), kind_, key_.c_str());
    }
    Library(const Library&) = delete;
    Library& def(const char* schema, const std::vector<at::Tag>& tags = {}) & { return define(schema, tags); }
    Library& define(const char* schema, const std::vector<at::Tag>& tags) & {
      ::tl::WithGil gil;
      PyObject* numbers = PyTuple_New(Py_ssize_t(tags.size()));
      for (size_t i = 0; numbers && i < tags.size(); ++i)
        PyTuple_SET_ITEM(numbers, Py_ssize_t(i), PyLong_FromLong(long(tags[i])));
      registry("define", "sssN", ns_.c_str(), kind_, schema, numbers);
      return *this;
    }
    Library& def(const std::string& schema) & { return def(schema.c_str()); }
    Library& def(const Schema& s) & { return def(s.text.c_str()); }
    // The schema may be a name alone: the function's type then states the rest.
    template <class F>
    Library& def(const char* name_or_schema, F&& f) & {
      CppFunction c(std::forward<F>(f));
      std::string text = name_or_schema;
      if (text.find('(') == std::string::npos) text += c.schema;
      def(text.c_str());
      const std::string name = text.substr(0, text.find('('));
      return implement(name, c.key == DispatchKey::Undefined ? "CompositeImplicitAutograd" : toString(c.key),
                       c);
    }
    template <class F>
    Library& def(const std::string& name, F&& f) & {
      return def(name.c_str(), std::forward<F>(f));
    }
    template <class F>
    Library& def(const Schema& s, F&& f) & {
      return def(s.text.c_str(), std::forward<F>(f));
    }
    template <class F>
    Library& impl(const std::string& name, F&& f) & {
      CppFunction c(std::forward<F>(f));
      const std::string key = c.key != DispatchKey::Undefined ? toString(c.key) : key_;
      return implement(name, key.empty() ? "CompositeImplicitAutograd" : key, c);
    }
    template <class F>
    Library& impl(const std::string& name, c10::DispatchKey key, F&& f) & {
      return implement(name, toString(key), CppFunction(std::forward<F>(f)));
    }
    template <class F>
    Library& impl_UNBOXED(const std::string& name, F* f) & {
      return impl(name, f);
    }
    // A kernel for all operators of the key. Operators without a kernel for a key pass it in tl anyway.
    Library& fallback(CppFunction&& f) & {
      c10::face::guard([&] {
        if (!f.falls_through)
          c10::face::fail<c10::NotImplementedError>(
              "", "fallback(): tl takes makeFallthrough() alone as the kernel of all operators");
      });
      return *this;
    }
    Library& set_python_module(const char* module, const char* context = "") & {
      registry("set_python_module", "sss", ns_.c_str(), module, context);
      return *this;
    }
    Library& impl_abstract_pystub(const char* module, const char* context = "") & {
      return set_python_module(module, context);
    }
    template <class T>
    torch::class_<T> class_(const std::string& name) {
      return torch::class_<T>(ns_, name);
    }

   private:
    Library& implement(std::string name, std::string key, const CppFunction& f) {
      ::tl::WithGil gil;
      if (name.find("::") == std::string::npos) name = ns_ + "::" + name;
      if (key == "Autocast") key = "AutocastCPU";
      c10::face::guard([&] {
        c10::face::call_registry("implement", "(sssN)", ns_.c_str(), name.c_str(), key.c_str(),
                                 capsule(f, name));
      });
      return *this;
    }
    static PyObject* capsule(const CppFunction& f, const std::string& name) {
      if (f.falls_through) {
        const auto module = at::face::checked(PyImport_ImportModule("tl_core.dispatch.registrations"));
        return at::face::checked(PyObject_GetAttrString(module.get(), "fallthrough_kernel")).release();
      }
      // The entry and the operator of a boxed kernel live as long as the process.
      auto* entry =
          new TlLayerEntry{f.call, f.takes_stack ? new c10::OperatorHandle(name, nullptr) : f.context};
      return at::face::checked(PyCapsule_New(entry, TL_KERNEL_CAPSULE, nullptr)).release();
    }
    template <class... A>
    void registry(const char* function, const char* format, A... a) {
      ::tl::WithGil gil;
      c10::face::guard(
          [&] { c10::face::call_registry(function, (std::string("(") + format + ")").c_str(), a...); });
    }
    const char* kind_;
    std::string ns_, key_;
  };

  namespace detail {
  struct TorchLibraryInit {
    TorchLibraryInit(Library::Kind kind, void (*fill)(Library&), const char* ns, const char* key,
                     const char* file, uint32_t line) {
      c10::face::guard([&] {
        Library library(kind, ns, key, file, line);
        fill(library);
      });
    }
  };
  }  // namespace detail

  // The older way to register operators.
  class RegisterOperators {
   public:
    class Options {
     public:
      Options& schema(const std::string& s) { return text = s, *this; }
      template <class F, F* f>
      Options& kernel(c10::DispatchKey key) {
        kernels.emplace_back(key, CppFunction(f));
        return *this;
      }
      template <class F>
      Options& kernel(c10::DispatchKey key, F&& f) {
        kernels.emplace_back(key, CppFunction(std::forward<F>(f)));
        return *this;
      }
      template <class F, F* f>
      Options& catchAllKernel() {
        return kernel(c10::DispatchKey::CompositeImplicitAutograd, f);
      }
      template <class F>
      Options& catchAllKernel(F&& f) {
        return kernel(c10::DispatchKey::CompositeImplicitAutograd, std::forward<F>(f));
      }
      Options& aliasAnalysis(int) { return *this; }
      std::string text;
      std::vector<std::pair<c10::DispatchKey, CppFunction>> kernels;
    };
    RegisterOperators() = default;
    template <class F>
    RegisterOperators(const std::string& name, F&& f) {
      op(name, std::forward<F>(f));
    }
    static Options options() { return {}; }
    template <class F, class = std::enable_if_t<!std::is_base_of_v<Options, std::decay_t<F>>>>
    RegisterOperators&& op(const std::string& name, F&& f) && {
      return std::move(op(name, std::forward<F>(f)));
    }
    template <class F, class = std::enable_if_t<!std::is_base_of_v<Options, std::decay_t<F>>>>
    RegisterOperators& op(const std::string& name, F&& f) & {
      library(name).def(name, std::forward<F>(f));
      return *this;
    }
    RegisterOperators& op(const Options& o) & { return op(o.text, o); }
    RegisterOperators& op(const std::string& name, const Options& o) & {
      std::string text = o.text.empty() ? name : o.text;
      if (text.find('(') == std::string::npos && !o.kernels.empty()) text += o.kernels[0].second.schema;
      auto& l = library(text);
      l.def(text);
      for (const auto& [key, f] : o.kernels) l.impl(text.substr(0, text.find('(')), key, CppFunction(f));
      return *this;
    }
    RegisterOperators&& op(const std::string& name, const Options& o) && { return std::move(op(name, o)); }

   private:
    Library& library(const std::string& name) {
      const std::string ns = name.substr(0, name.find("::"));
      libraries_.push_back(std::make_unique<Library>(Library::FRAGMENT, ns, "", __FILE__, __LINE__));
      return *libraries_.back();
    }
    std::vector<std::unique_ptr<Library>> libraries_;
  };
  namespace jit {
  using RegisterOperators = torch::RegisterOperators;
  }
}
}  // namespace torch
namespace c10 {
TL_FACE { using RegisterOperators = torch::RegisterOperators; }
}  // namespace c10

#define TORCH_FN(F) (&F)
#define TORCH_FN_TYPE(F) decltype(&F)
#define TORCH_SELECTIVE_NAME(NAME) NAME
#define TORCH_SELECTIVE_SCHEMA(TEXT) TEXT
#define TL_FACE_LIBRARY(KIND, NS, KEY, M, ID)                                                       \
  static void C10_CONCATENATE(tl_fill_##NS##_, ID)(::torch::Library&);                              \
  static const ::torch::detail::TorchLibraryInit C10_CONCATENATE(tl_init_##NS##_, ID)(              \
      ::torch::Library::KIND, &C10_CONCATENATE(tl_fill_##NS##_, ID), #NS, KEY, __FILE__, __LINE__); \
  void C10_CONCATENATE(tl_fill_##NS##_, ID)([[maybe_unused]] ::torch::Library & M)
#define TORCH_LIBRARY(NS, M) TL_FACE_LIBRARY(DEF, NS, "", M, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(NS, M) TL_FACE_LIBRARY(FRAGMENT, NS, "", M, __COUNTER__)
#define TORCH_LIBRARY_IMPL(NS, KEY, M) TL_FACE_LIBRARY(IMPL, NS, #KEY, M, __COUNTER__)

#endif  // TL_TORCH_LIBRARY_HPP

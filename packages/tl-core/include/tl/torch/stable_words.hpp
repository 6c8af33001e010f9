// Values of PyTorch's stable interface: words of 64 bits, kernels on a stack of words, calls of operators by
// name.
#ifndef TL_TORCH_STABLE_WORDS_HPP
#define TL_TORCH_STABLE_WORDS_HPP

#include <cstring>
#include <map>
#include <mutex>
#include <tl/torch/headeronly.hpp>
#include <tl/torch/library.hpp>

using StableIValue = uint64_t;
using AOTITorchError = int32_t;
using AtenTensorOpaque = TlTensor;
using AtenTensorHandle = TlTensor*;
using AtenGeneratorHandle = TlGenerator*;
#define AOTI_TORCH_SUCCESS 0
#define AOTI_TORCH_FAILURE 1
#define TORCH_SUCCESS 0
#define TORCH_FAILURE 1

namespace torch {
TL_FACE {
  namespace stable {
  using Tensor = at::Tensor;
  using Generator = at::Generator;

  namespace detail {
  // A number is a word. A tensor is its handle, which the word owns. An optional value is a pointer to a
  // word, or 0. A list or a text is a pointer to an IValue. Who reads such a word owns what it points to.
  template <class T, class = void>
  struct Word {  // lists and texts
    static StableIValue from(T x) { return reinterpret_cast<StableIValue>(new c10::IValue(std::move(x))); }
    static T to(StableIValue w) {
      const std::unique_ptr<c10::IValue> held(reinterpret_cast<c10::IValue*>(w));
      return held->template to<T>();
    }
  };
  template <class T>
  struct Word<T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>> {
    static StableIValue from(T x) { return StableIValue(int64_t(x)); }
    static T to(StableIValue w) { return T(int64_t(w)); }
  };
  template <class T>
  struct Word<T, std::enable_if_t<std::is_floating_point_v<T>>> {
    static StableIValue from(T x) {
      const double wide = x;
      StableIValue w;
      std::memcpy(&w, &wide, sizeof w);
      return w;
    }
    static T to(StableIValue w) {
      double wide;
      std::memcpy(&wide, &w, sizeof w);
      return T(wide);
    }
  };
  template <>
  struct Word<bool> {
    static StableIValue from(bool x) { return x; }
    static bool to(StableIValue w) { return w != 0; }
  };
  template <>
  struct Word<std::nullopt_t> {
    static StableIValue from(std::nullopt_t) { return 0; }
  };
  template <>
  struct Word<Tensor> {
    static StableIValue from(Tensor t) { return reinterpret_cast<StableIValue>(t.release()); }
    static Tensor to(StableIValue w) { return Tensor::adopt(reinterpret_cast<TlTensor*>(w)); }
  };
  template <>
  struct Word<c10::Device> {
    static StableIValue from(c10::Device d) {
      return StableIValue(d.type()) << 32 | uint32_t(int32_t(d.index()));
    }
    static c10::Device to(StableIValue w) {
      return {c10::DeviceType(w >> 32), c10::DeviceIndex(int32_t(uint32_t(w)))};
    }
  };
  template <class T>
  struct Word<std::optional<T>> {
    static StableIValue from(std::optional<T> o) {
      return o ? reinterpret_cast<StableIValue>(new StableIValue(Word<T>::from(std::move(*o)))) : 0;
    }
    static std::optional<T> to(StableIValue w) {
      const std::unique_ptr<StableIValue> inner(reinterpret_cast<StableIValue*>(w));
      if (!inner) return std::nullopt;
      return Word<T>::to(*inner);
    }
  };
  template <class T>
  struct Word<c10::ArrayRef<T>> {
    static StableIValue from(c10::ArrayRef<T> l) { return Word<std::vector<T>>::from(l.vec()); }
  };
  template <>
  struct Word<std::string_view> {
    static StableIValue from(std::string_view s) { return Word<std::string>::from(std::string(s)); }
  };
  template <>
  struct Word<const char*> : Word<std::string_view> {};

  template <class T>
  StableIValue from(T x) {
    return Word<T>::from(std::move(x));
  }
  template <class T>
  T to(StableIValue w) {
    return Word<T>::to(w);
  }

  // ---- by the kind of an argument in a schema ---------------------------------------------------------------------
  inline c10::IValue ivalue_of_word(StableIValue w, const TlArgInfo& info, bool is_inner = false) {
    if (info.optional && !is_inner) {
      const std::unique_ptr<StableIValue> inner(reinterpret_cast<StableIValue*>(w));
      return inner ? ivalue_of_word(*inner, info, true) : c10::IValue();
    }
    switch (info.kind) {
      case TL_ARG_TENSOR:
        return to<Tensor>(w);
      case TL_ARG_FLOAT:
      case TL_ARG_SCALAR:
        return to<double>(w);
      case TL_ARG_BOOL:
        return to<bool>(w);
      case TL_ARG_DEVICE:
        return to<c10::Device>(w);
      case TL_ARG_INT:
      case TL_ARG_DTYPE:
      case TL_ARG_LAYOUT:
      case TL_ARG_MEMORY_FORMAT:
        return int64_t(w);
      default:
        return std::move(*std::unique_ptr<c10::IValue>(reinterpret_cast<c10::IValue*>(w)));
    }
  }
  inline StableIValue word_of(c10::IValue v, const TlArgInfo& info, bool is_inner = false) {
    if (info.optional && !is_inner)
      return v.isNone() ? 0
                        : reinterpret_cast<StableIValue>(new StableIValue(word_of(std::move(v), info, true)));
    switch (info.kind) {
      case TL_ARG_TENSOR:
        return from(v.toTensor());
      case TL_ARG_FLOAT:
      case TL_ARG_SCALAR:
        return from(v.isInt() ? double(v.toInt()) : v.toDouble());
      case TL_ARG_BOOL:
        return from(v.toBool());
      case TL_ARG_DEVICE:
        return from(v.toDevice());
      case TL_ARG_INT:
      case TL_ARG_DTYPE:
      case TL_ARG_LAYOUT:
      case TL_ARG_MEMORY_FORMAT:
        return StableIValue(v.toInt());
      default:
        return reinterpret_cast<StableIValue>(new c10::IValue(std::move(v)));
    }
  }

  // ---- kernels ----------------------------------------------------------------------------------------------------
  using WordsFunction = void (*)(StableIValue*, uint64_t, uint64_t);
  // A function on a stack of words. It lives as long as the process.
  struct WordsKernel {
    WordsFunction function;
    c10::OperatorHandle op;
    static int call(void* context, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
      return c10::face::guarded([&] {
        const auto& kernel = *static_cast<const WordsKernel*>(context);
        const TlOperatorInfo& info = *c10::face::api().op_info(kernel.op.handle());
        const auto described = [](const TlArgInfo* infos, int i) -> const TlArgInfo& {
          return *tl_argument(&c10::face::extension(), infos, i);
        };
        std::vector<StableIValue> words(size_t(std::max(n_args, n_rets)));
        for (int i = 0; i < n_args; ++i)
          words[size_t(i)] = word_of(c10::face::ivalue_of(args[i]), described(info.args, i));
        kernel.function(words.data(), uint64_t(n_args), uint64_t(n_rets));
        for (int i = 0; i < n_rets; ++i) {
          const TlArgInfo& result = described(info.rets, i);
          rets[i] = c10::face::value_of(ivalue_of_word(words[size_t(i)], result), result.kind);
        }
      });
    }
  };
  // A function with types, from TORCH_BOX.
  struct BoxedFunction {
    CppFunction function;
  };
  template <auto F>
  BoxedFunction box() {
    return {CppFunction(F)};
  }
  }  // namespace detail

  class StableLibrary {
   public:
    StableLibrary(Library::Kind kind, const char* ns, const char* key)
        : ns_(ns), library_(kind, ns, key, "", 0) {}
    StableLibrary& def(const char* schema) { return library_.def(schema), *this; }
    StableLibrary& def(const char* schema, const std::vector<headeronly::Tag>& tags) {
      return library_.define(schema, tags), *this;
    }
    StableLibrary& impl(const char* name, detail::BoxedFunction f) {
      library_.impl(name, std::move(f.function));
      return *this;
    }
    StableLibrary& impl(const char* name, detail::WordsFunction f) {
      std::string full = name;
      if (full.find("::") == std::string::npos) full = ns_ + "::" + full;
      CppFunction c;
      c.call = &detail::WordsKernel::call;
      c.context = new detail::WordsKernel{f, c10::OperatorHandle(std::move(full), nullptr)};
      library_.impl(name, std::move(c));
      return *this;
    }
    StableLibrary& set_python_module(const char* module, const char* context = "") {
      return library_.set_python_module(module, context), *this;
    }

   private:
    std::string ns_;
    Library library_;
  };

  namespace detail {
  struct StableLibraryInit {
    StableLibraryInit(Library::Kind kind, void (*fill)(StableLibrary&), const char* ns, const char* key) {
      c10::face::api();
      StableLibrary library(kind, ns, key);
      fill(library);
    }
  };

  // ---- calls by name ----------------------------------------------------------------------------------------------
  // An operator under PyTorch's name and overload, as the registry of the stable interface resolves it.
  struct Resolved {
    std::vector<TlArgInfo> args, rets;  // by PyTorch's schema
    std::vector<std::string> names;
    const TlOperator* op = nullptr;  // the row; NULL: a function of Python
    PyObject* callable = nullptr;
    int n_positional = 0;

    Resolved(const char* name, const char* overload) {
      ::tl::WithGil gil;
      const auto answer = c10::face::call_registry("resolve", "(ss)", name, overload);
      PyObject *native, *arguments, *results;
      if (!PyArg_ParseTuple(answer.get(), "OOO!O!i", &native, &callable, &PyTuple_Type, &arguments,
                            &PyTuple_Type, &results, &n_positional))
        at::face::raise_python();
      Py_INCREF(callable);  // for the life of the process
      read(arguments, &args, &names);
      read(results, &rets, nullptr);
      if (native == Py_None) return;
      const char* text = PyUnicode_AsUTF8(native);
      if (!text) at::face::raise_python();
      const TlOperator* row = c10::face::check(c10::face::api().op_find(text));
      if (size_t(c10::face::api().op_info(row)->n_args) == args.size()) op = row;
    }
    static void read(PyObject* tuple, std::vector<TlArgInfo>* infos, std::vector<std::string>* names) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
        int kind, optional;
        const char* name;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "ips", &kind, &optional, &name))
          at::face::raise_python();
        TlArgInfo info{};
        info.kind = uint8_t(kind), info.optional = optional != 0;
        infos->push_back(info);
        if (names) names->emplace_back(name);
      }
    }
    static const Resolved& of(const char* name, const char* overload) {
      static std::mutex mutex;
      static auto* const all = new std::map<std::pair<std::string, std::string>, std::unique_ptr<Resolved>>;
      const std::pair<std::string, std::string> key(name, overload);
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (const auto it = all->find(key); it != all->end()) return *it->second;
      }
      auto made = std::make_unique<Resolved>(name, overload);  // not under the lock: Python runs
      const std::lock_guard<std::mutex> lock(mutex);
      return *all->emplace(key, std::move(made)).first->second;
    }
  };

  // The call of a function of Python; the results replace the arguments on the stack.
  inline void call_python(const Resolved& r, c10::Stack& stack) {
    ::tl::WithGil gil;
    const auto positional = at::face::checked(PyTuple_New(r.n_positional));
    const auto keywords = at::face::checked(PyDict_New());
    for (size_t i = 0; i < r.args.size(); ++i) {
      TlValue v = c10::face::value_of(stack[i], r.args[i].kind);
      auto object = at::face::checked(c10::face::python().from_value(&v));
      if (int(i) < r.n_positional)
        PyTuple_SET_ITEM(positional.get(), Py_ssize_t(i), object.release());
      else if (PyDict_SetItemString(keywords.get(), r.names[i].c_str(), object.get()) != 0)
        at::face::raise_python();
    }
    const auto result = at::face::checked(PyObject_Call(r.callable, positional.get(), keywords.get()));
    stack.clear();
    for (size_t i = 0; i < r.rets.size(); ++i) {
      const ::tl::PyRef item(r.rets.size() == 1 ? Py_NewRef(result.get())
                                                : PySequence_GetItem(result.get(), Py_ssize_t(i)));
      TlValue v{};
      void* scratch = nullptr;
      if (!item || c10::face::python().to_value(item.get(), r.rets[i].kind, &v, &scratch) != 0)
        at::face::raise_python();
      stack.push_back(c10::face::ivalue_of(v));
      c10::face::python().scratch_free(scratch);
    }
  }

  // Calls an operator with the words of its arguments, which the call owns. The results take their place.
  inline void call_dispatcher(const char* name, const char* overload, StableIValue* words) {
    const Resolved& r = Resolved::of(name, overload ? overload : "");
    c10::Stack stack;
    for (size_t i = 0; i < r.args.size(); ++i) stack.push_back(ivalue_of_word(words[i], r.args[i]));
    if (r.op)
      c10::face::call_boxed(r.op, stack);
    else
      call_python(r, stack);
    for (size_t i = 0; i < r.rets.size(); ++i) words[i] = word_of(std::move(stack[i]), r.rets[i]);
  }
  }  // namespace detail
  }  // namespace stable
}
}  // namespace torch

// An error is an exception here, so that its text reaches the caller.
inline AOTITorchError torch_call_dispatcher(const char* name, const char* overload, StableIValue* stack,
                                            uint64_t) {
  torch::stable::detail::call_dispatcher(name, overload, stack);
  return AOTI_TORCH_SUCCESS;
}
inline AOTITorchError aoti_torch_call_dispatcher(const char* name, const char* overload,
                                                 StableIValue* stack) {
  return torch_call_dispatcher(name, overload, stack, 0);
}
#define TORCH_ERROR_CODE_CHECK(CALL) TORCH_CHECK((CALL) == AOTI_TORCH_SUCCESS, #CALL, " API call failed")
#define STABLE_TORCH_ERROR_CODE_CHECK TORCH_ERROR_CODE_CHECK
#define AOTI_TORCH_ERROR_CODE_CHECK TORCH_ERROR_CODE_CHECK

// The function as a kernel.
#define TORCH_BOX(...) ::torch::stable::detail::box<(__VA_ARGS__)>()
#define TL_FACE_STABLE_LIBRARY(KIND, NS, KEY, M, ID)                                                   \
  static void C10_CONCATENATE(tl_stable_##NS##_, ID)(::torch::stable::StableLibrary&);                 \
  static const ::torch::stable::detail::StableLibraryInit C10_CONCATENATE(tl_stable_init_##NS##_, ID)( \
      ::torch::Library::KIND, &C10_CONCATENATE(tl_stable_##NS##_, ID), #NS, KEY);                      \
  void C10_CONCATENATE(tl_stable_##NS##_, ID)([[maybe_unused]] ::torch::stable::StableLibrary & M)
#define STABLE_TORCH_LIBRARY(NS, M) TL_FACE_STABLE_LIBRARY(DEF, NS, "", M, __COUNTER__)
#define STABLE_TORCH_LIBRARY_FRAGMENT(NS, M) TL_FACE_STABLE_LIBRARY(FRAGMENT, NS, "", M, __COUNTER__)
#define STABLE_TORCH_LIBRARY_IMPL(NS, KEY, M) TL_FACE_STABLE_LIBRARY(IMPL, NS, #KEY, M, __COUNTER__)

#endif  // TL_TORCH_STABLE_WORDS_HPP

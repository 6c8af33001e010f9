// torch::class_: classes of C++ that Python has as `torch.classes.namespace.Name`.
#ifndef TL_TORCH_CUSTOM_CLASS_HPP
#define TL_TORCH_CUSTOM_CLASS_HPP

#include <tl/torch/library.hpp>

namespace torch {
TL_FACE {
  // The name of an argument, and its default.
  struct arg {
    explicit arg(std::string name) : name_(std::move(name)), value_(std::nullopt) {}
    static arg none() {
      arg a("");
      a.value_ = IValue();
      return a;
    }
    arg& operator=(const IValue& value) { return value_ = value, *this; }
    std::string name_;
    std::optional<IValue> value_;
  };
  namespace detail {
  template <class... A>
  struct types {
    using type = types;
  };
  template <class F>
  struct InitLambda {
    F f;
  };
  template <class F>
  InitLambda(F) -> InitLambda<F>;
  }  // namespace detail
  // A constructor of these types of arguments, or a function that returns an object.
  template <class... A>
  detail::types<A...> init() {
    return {};
  }
  template <class F>
  auto init(F && f) {
    return detail::InitLambda<std::decay_t<F>>{std::forward<F>(f)};
  }

  template <class T>
  class class_ {
    static_assert(std::is_base_of_v<CustomClassHolder, T>,
                  "torch::class_ requires T to inherit from CustomClassHolder");
    using Pointer = c10::intrusive_ptr<T>;

   public:
    explicit class_(const std::string& ns, const std::string& name, std::string doc = "") {
      ::tl::WithGil gil;
      c10::face::guard([&] {
        const auto module = at::face::checked(PyImport_ImportModule("tl_core.extensions.custom_classes"));
        cls_ = at::face::checked(PyObject_CallMethod(module.get(), "define", "sss", ns.c_str(), name.c_str(),
                                                     doc.c_str()))
                   .release();  // classes live as long as the process
        c10::face::classes()[typeid(T)] = {cls_, "__torch__.torch.classes." + ns + "." + name};
      });
    }
    template <class... A>
    class_& def(detail::types<A...>, const std::string& doc = "", std::initializer_list<arg> defaults = {}) {
      return put<Pointer(A...)>(
          "method", "__init__", [](A... a) { return Pointer::make(std::forward<A>(a)...); }, doc, defaults);
    }
    template <class F>
    class_& def(detail::InitLambda<F> init, const std::string& doc = "",
                std::initializer_list<arg> defaults = {}) {
      return put<Signature<F>>("method", "__init__", std::move(init.f), doc, defaults);
    }
    // A method of the class, or a function whose first parameter is the object.
    template <class F>
    class_& def(const std::string& name, F f, const std::string& doc = "",
                std::initializer_list<arg> defaults = {}) {
      return method("method", name, std::move(f), doc, defaults);
    }
    template <class F>
    class_& def_static(const std::string& name, F f, const std::string& doc = "") {
      return put<Signature<F>>("static", name, std::move(f), doc);
    }
    template <class G>
    class_& def_property(const std::string& name, G getter, const std::string& doc = "") {
      return method("getter", name, std::move(getter), doc);
    }
    template <class G, class S, class = std::enable_if_t<!std::is_constructible_v<std::string, S>>>
    class_& def_property(const std::string& name, G getter, S setter, const std::string& doc = "") {
      return method("getter", name, std::move(getter), doc).method("setter", name, std::move(setter), doc);
    }
    template <class V>
    class_& def_readonly(const std::string& name, V T::* field) {
      return put<V(Pointer)>("getter", name, [field](const Pointer& self) { return (*self).*field; });
    }
    template <class V>
    class_& def_readwrite(const std::string& name, V T::* field) {
      return def_readonly(name, field)
          .template put<void(Pointer, V)>(
              "setter", name, [field](const Pointer& self, V v) { (*self).*field = std::move(v); });
    }
    // The state that pickles have, and the object of a state.
    template <class G, class S>
    class_& def_pickle(G get, S set) {
      return method("method", "__getstate__", std::move(get))
          .template put<Signature<S>>("method", "__setstate__", std::move(set));
    }

   private:
    template <class F>
    using Signature = typename c10::face::CallableSignature<std::decay_t<F>>::Plain;
    template <class F>
    class_& method(const char* kind, const std::string& name, F f, const std::string& doc = "",
                   std::initializer_list<arg> defaults = {}) {
      if constexpr (std::is_member_function_pointer_v<F>)
        return put_member(kind, name, f, doc, defaults, static_cast<Signature<F>*>(nullptr));
      else
        return put<Signature<F>>(kind, name, std::move(f), doc, defaults);
    }
    template <class F, class R, class... A>
    class_& put_member(const char* kind, const std::string& name, F f, const std::string& doc,
                       std::initializer_list<arg> defaults, R (*)(A...)) {
      return put<R(Pointer, A...)>(
          kind, name, [f](const Pointer& self, A... a) -> R { return ((*self).*f)(std::forward<A>(a)...); },
          doc, defaults);
    }
    // Gives the class of Python a function.
    template <class S, class F>
    class_& put(const char* kind, const std::string& name, F f, const std::string& doc = "",
                std::initializer_list<arg> defaults = {}) {
      add(
          kind, name, doc, defaults,
          [f = std::move(f)](PyObject* args) mutable { return c10::face::ObjectCall<S>::call(f, args); },
          &c10::face::SignatureOf<S>::schema);
      return *this;
    }
    void add(const char* kind, const std::string& name, const std::string& doc,
             std::initializer_list<arg> defaults, c10::face::Callable f, std::string (*schema)()) {
      if (!cls_) return;  // its name is taken: the error waits
      ::tl::WithGil gil;
      c10::face::guard([&] {
        const auto function = c10::face::function_of(std::move(f));
        const auto names = at::face::checked(PyList_New(0)), values = at::face::checked(PyDict_New());
        for (const arg& a : defaults) {
          const auto text = at::face::checked(PyUnicode_FromString(a.name_.c_str()));
          if (PyList_Append(names.get(), text.get()) != 0) at::face::raise_python();
          if (!a.value_) continue;
          const auto value = c10::face::Object<IValue>::to(*a.value_);
          if (PyDict_SetItem(values.get(), text.get(), value.get()) != 0) at::face::raise_python();
        }
        std::string types;
        try {
          types = schema();
        } catch (const c10::Error&) {
          // A class of C++ that isn't registered yet. Scripts can't call the method.
        }
        at::face::checked(PyObject_CallMethod(cls_, "_add", "sssOOOs", kind, name.c_str(), doc.c_str(),
                                              function.get(), names.get(), values.get(), types.c_str()));
      });
    }
    PyObject* cls_ = nullptr;
  };
  template <class T>
  class_<T> selective_class_(const std::string& ns, const std::string& name) {
    return class_<T>(ns, name);
  }
}
}  // namespace torch
namespace c10 {
TL_FACE {
  // The name in schemas of a class of C++.
  template <class T>
  const std::string& getCustomClassTypeName() {
    return face::class_entry(typeid(T)).name;
  }
  template <class T>
  bool isCustomClassRegistered() {
    return face::classes().count(typeid(T)) != 0;
  }
}
}  // namespace c10

#endif  // TL_TORCH_CUSTOM_CLASS_HPP

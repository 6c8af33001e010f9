// Values as objects of Python: containers of containers, dictionaries, and objects of classes of C++.
#ifndef TL_TORCH_OBJECTS_HPP
#define TL_TORCH_OBJECTS_HPP

#include <map>
#include <tl/torch/schema.hpp>
#include <typeindex>
#include <typeinfo>

namespace c10 {
TL_FACE {
  namespace face {
  // ---- objects of classes of C++ -----------------------------------------------------------------------------------
  // A class of C++ in Python: the class, and its name in schemas.
  struct ClassEntry {
    PyObject* cls;
    std::string name;
  };
  inline std::unordered_map<std::type_index, ClassEntry>& classes() {
    static std::unordered_map<std::type_index, ClassEntry> all;
    return all;
  }
  inline const ClassEntry& class_entry(const std::type_info& type) {
    const auto it = classes().find(type);
    if (it == classes().end())
      fail<Error>("", "a class of C++ that is no torch::class_ has no object in Python: ", type.name());
    return it->second;
  }
  // The share in an object that a capsule of Python has. The name of the capsule is that of these headers.
  using Held = intrusive_ptr<intrusive_ptr_target>;
  inline constexpr const char* kHeld = "tl.torch.object." TL_FACE_VERSION;
  inline void drop_held(PyObject* capsule) {
    delete static_cast<Held*>(PyCapsule_GetPointer(capsule, kHeld));
  }
  [[gnu::noinline]] inline ::tl::PyRef capsule_of(Held object) {
    auto held = std::make_unique<Held>(std::move(object));
    auto capsule = at::face::checked(PyCapsule_New(held.get(), kHeld, drop_held));
    held.release();
    return capsule;
  }
  [[gnu::noinline]] inline ::tl::PyRef wrap_object(Held object, const std::type_info& type) {
    if (!object) return ::tl::PyRef::share(Py_None);
    const auto capsule = capsule_of(std::move(object));
    return at::face::checked(PyObject_CallMethod(class_entry(type).cls, "_wrap", "O", capsule.get()));
  }
  [[noreturn, gnu::cold, gnu::noinline]] inline void refuse_type_of(const std::string& wanted, PyObject* o) {
    fail<TypeError>("", "expected ", wanted, ", got ", Py_TYPE(o)->tp_name);
  }
  [[gnu::noinline]] inline Held held_of(PyObject* o) {
    if (o == Py_None) return {};
    const ::tl::PyRef capsule(PyObject_GetAttrString(o, "_object"));
    if (!capsule) PyErr_Clear();
    if (!capsule || !PyCapsule_IsValid(capsule.get(), kHeld))
      refuse_type_of("an object of a class of this extension", o);
    return *static_cast<Held*>(PyCapsule_GetPointer(capsule.get(), kHeld));
  }

  // ---- values ------------------------------------------------------------------------------------------------------
  // The kind of argument as which a plain type crosses.
  template <class T>
  constexpr int plain_kind() {
    if constexpr (std::is_same_v<T, at::Tensor>)
      return TL_ARG_TENSOR;
    else if constexpr (std::is_same_v<T, bool>)
      return TL_ARG_BOOL;
    else if constexpr (std::is_integral_v<T>)
      return TL_ARG_INT;
    else if constexpr (std::is_floating_point_v<T>)
      return TL_ARG_FLOAT;
    else if constexpr (std::is_same_v<T, Scalar>)
      return TL_ARG_SCALAR;
    else if constexpr (std::is_same_v<T, ScalarType>)
      return TL_ARG_DTYPE;
    else if constexpr (std::is_same_v<T, Device>)
      return TL_ARG_DEVICE;
    else if constexpr (std::is_same_v<T, Layout>)
      return TL_ARG_LAYOUT;
    else if constexpr (std::is_same_v<T, MemoryFormat>)
      return TL_ARG_MEMORY_FORMAT;
    else if constexpr (std::is_same_v<T, at::Generator>)
      return TL_ARG_GENERATOR;
    else
      return TL_ARG_STRING;
  }
  template <class T, class = void>
  struct Object {
    static_assert(sizeof(Cross<T>) != 0);
    using Owned = std::conditional_t<plain_kind<T>() == TL_ARG_STRING, std::string, T>;
    static Owned from(PyObject* o) {
      struct Scratch {
        void* memory = nullptr;
        ~Scratch() { python().scratch_free(memory); }
      } scratch;
      TlValue v{};
      if (python().to_value(o, plain_kind<T>(), &v, &scratch.memory) != 0) at::face::raise_python();
      return static_cast<Owned>(Cross<T>::from(v));
    }
    static ::tl::PyRef to(const T& x) {
      TlValue v = Cross<T>::to(x);
      return at::face::checked(python().from_value(&v));
    }
  };
  template <class T>
  struct Object<std::optional<T>> {
    static std::optional<T> from(PyObject* o) {
      if (o == Py_None) return std::nullopt;
      return static_cast<T>(Object<T>::from(o));
    }
    static ::tl::PyRef to(const std::optional<T>& x) {
      return x ? Object<T>::to(*x) : ::tl::PyRef::share(Py_None);
    }
  };
  inline ::tl::PyRef sequence_of(PyObject* o) {
    if (PyUnicode_Check(o) || !PySequence_Check(o)) refuse_type_of("a sequence", o);
    return at::face::checked(PySequence_Tuple(o));
  }
  template <class T>
  struct Object<std::vector<T>> {
    static std::vector<T> from(PyObject* o) {
      const auto items = sequence_of(o);
      std::vector<T> list;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
        list.push_back(static_cast<T>(Object<T>::from(PyTuple_GET_ITEM(items.get(), i))));
      return list;
    }
    static ::tl::PyRef to(const std::vector<T>& l) {
      auto list = at::face::checked(PyList_New(Py_ssize_t(l.size())));
      for (size_t i = 0; i < l.size(); ++i)
        PyList_SET_ITEM(list.get(), Py_ssize_t(i), Object<T>::to(l[i]).release());
      return list;
    }
  };
  template <class T>
  struct Object<List<T>> {
    static List<T> from(PyObject* o) { return List<T>(Object<std::vector<T>>::from(o)); }
    static ::tl::PyRef to(const List<T>& l) { return Object<std::vector<T>>::to(l.vec()); }
  };
  template <class T>
  struct Object<ArrayRef<T>> {
    static Run<T> from(PyObject* o) { return {Object<std::vector<T>>::from(o)}; }
    static ::tl::PyRef to(ArrayRef<T> l) { return Object<std::vector<T>>::to(l.vec()); }
  };
  template <class T, size_t N>
  struct Object<std::array<T, N>> {
    static std::array<T, N> from(PyObject* o) {
      const auto list = Object<std::vector<T>>::from(o);
      if (list.size() != N) fail<ValueError>("", "expected ", N, " elements, got ", list.size());
      std::array<T, N> a;
      std::copy(list.begin(), list.end(), a.begin());
      return a;
    }
    static ::tl::PyRef to(const std::array<T, N>& a) {
      return Object<std::vector<T>>::to(std::vector<T>(a.begin(), a.end()));
    }
  };
  template <class Tuple, class... T>
  struct TupleObject {
    static Tuple from(PyObject* o) {
      const auto items = sequence_of(o);
      if (PyTuple_GET_SIZE(items.get()) != Py_ssize_t(sizeof...(T)))
        fail<ValueError>("", "expected a tuple of ", sizeof...(T), " values, got ",
                         PyTuple_GET_SIZE(items.get()));
      return from(items.get(), std::index_sequence_for<T...>{});
    }
    static ::tl::PyRef to(const Tuple& t) { return to(t, std::index_sequence_for<T...>{}); }

   private:
    template <size_t... I>
    static Tuple from(PyObject* items, std::index_sequence<I...>) {
      return Tuple(static_cast<T>(Object<T>::from(PyTuple_GET_ITEM(items, Py_ssize_t(I))))...);
    }
    template <size_t... I>
    static ::tl::PyRef to(const Tuple& t, std::index_sequence<I...>) {
      auto items = at::face::checked(PyTuple_New(sizeof...(T)));
      (PyTuple_SET_ITEM(items.get(), Py_ssize_t(I), Object<T>::to(std::get<I>(t)).release()), ...);
      return items;
    }
  };
  template <class... T>
  struct Object<std::tuple<T...>> : TupleObject<std::tuple<T...>, T...> {};
  template <class A, class B>
  struct Object<std::pair<A, B>> : TupleObject<std::pair<A, B>, A, B> {};

  template <class K, class V>
  void put_item(const Dict<K, V>& d, K key, V value) {
    d.insert_or_assign(std::move(key), std::move(value));
  }
  template <class M, class K, class V>
  void put_item(M& map, K key, V value) {
    map.insert_or_assign(std::move(key), std::move(value));
  }
  template <class M, class K, class V>
  struct DictObject {
    static M from(PyObject* o) {
      if (!PyDict_Check(o)) refuse_type_of("a dict", o);
      M map;
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(o, &position, &key, &value))
        put_item(map, static_cast<K>(Object<K>::from(key)), static_cast<V>(Object<V>::from(value)));
      return map;
    }
    static ::tl::PyRef to(const M& map) {
      auto dict = at::face::checked(PyDict_New());
      for (const auto& e : map) {
        const auto key = Object<K>::to(e.first), value = Object<V>::to(e.second);
        if (PyDict_SetItem(dict.get(), key.get(), value.get()) != 0) at::face::raise_python();
      }
      return dict;
    }
  };
  template <class K, class V>
  struct Object<Dict<K, V>> : DictObject<Dict<K, V>, K, V> {};
  template <class K, class V>
  struct Object<std::unordered_map<K, V>> : DictObject<std::unordered_map<K, V>, K, V> {};
  template <class K, class V>
  struct Object<std::map<K, V>> : DictObject<std::map<K, V>, K, V> {};

  template <class T>
  struct Object<intrusive_ptr<T>> {
    static intrusive_ptr<T> from(PyObject* o) {
      auto held = held_of(o);
      auto object = std::dynamic_pointer_cast<T>(std::shared_ptr<intrusive_ptr_target>(held));
      if (held && !object) refuse_type_of(class_entry(typeid(T)).name, o);
      return intrusive_ptr<T>(std::move(object));
    }
    static ::tl::PyRef to(const intrusive_ptr<T>& p) {
      return wrap_object(Held(std::shared_ptr<intrusive_ptr_target>(p)), typeid(T));
    }
  };
  // A template, which only programs with such values compile.
  template <class V>
  struct Object<V, std::enable_if_t<std::is_same_v<V, IValue>>> {
    static V from(PyObject* o) {
      if (o == Py_None) return {};
      if (PyBool_Check(o)) return o == Py_True;
      if (PyLong_Check(o)) return Object<int64_t>::from(o);
      if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
      if (PyComplex_Check(o))
        return std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
      if (PyUnicode_Check(o)) return Object<std::string>::from(o);
      if (python().unwrap(o)) return Object<at::Tensor>::from(o);
      if (PyDict_Check(o)) return dict(o);
      if (PyTuple_Check(o)) return V::tuple(Object<std::vector<V>>::from(o));
      if (PyList_Check(o)) return list(o);
      return held_of(o);
    }
    static ::tl::PyRef to(const V& x) {
      if (x.isNone()) return ::tl::PyRef::share(Py_None);
      if (x.isBool()) return ::tl::PyRef::share(x.toBool() ? Py_True : Py_False);
      if (x.isComplexDouble()) {
        const auto c = x.toComplexDouble();
        return at::face::checked(PyComplex_FromDoubles(c.real(), c.imag()));
      }
      if (x.isTensor()) return Object<at::Tensor>::to(x.toTensor());
      if (x.isInt()) return Object<int64_t>::to(x.toInt());
      if (x.isDouble()) return Object<double>::to(x.toDouble());
      if (x.isString()) return Object<std::string>::to(x.toString());
      if (x.isDevice()) return Object<Device>::to(x.toDevice());
      if (x.isGenerator()) return Object<at::Generator>::to(x.toGenerator());
      if (x.isObject()) return wrap_object(x.toObject(), typeid(*x.toObject()));
      if (x.isGenericDict()) return to_dict(x.toPairs());
      if (x.isTuple())
        return at::face::checked(PyList_AsTuple(Object<std::vector<V>>::to(x.toTuple().elements()).get()));
      return Object<std::vector<V>>::to(x.toListRef());
    }

   private:
    static ::tl::PyRef to_dict(const typename V::Pairs& pairs) {
      auto dict = at::face::checked(PyDict_New());
      for (const auto& [key, value] : pairs)
        if (PyDict_SetItem(dict.get(), to(key).get(), to(value).get()) != 0) at::face::raise_python();
      return dict;
    }
    static V dict(PyObject* o) {
      typename V::Pairs pairs;
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(o, &position, &key, &value)) pairs.emplace_back(from(key), from(value));
      return V::dict(std::move(pairs));
    }
    // A list of one of the types that have a list of their own is one.
    static V list(PyObject* o) {
      auto all = [&](auto is) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i)
          if (!is(PyList_GET_ITEM(o, i))) return false;
        return PyList_GET_SIZE(o) > 0;
      };
      if (all([](PyObject* x) { return python().unwrap(x) != nullptr; }))
        return Object<std::vector<at::Tensor>>::from(o);
      if (all([](PyObject* x) { return PyLong_CheckExact(x) != 0; }))
        return Object<std::vector<int64_t>>::from(o);
      if (all([](PyObject* x) { return PyFloat_Check(x) != 0; })) return Object<std::vector<double>>::from(o);
      return Object<std::vector<V>>::from(o);
    }
  };
  // ---- arguments and results of operators -------------------------------------------------------------------------
  // Values that operators pass as objects of Python.
  template <class T>
  struct CrossObject {
    static auto from(const TlValue& v) {
      ::tl::WithGil gil;
      if (v.tag != TL_OBJECT) fail<TypeError>("", "expected an object of Python, got a value of tag ", v.tag);
      return Object<T>::from(static_cast<PyObject*>(const_cast<void*>(v.u.p)));
    }
    static TlValue to(const T& x) {
      ::tl::WithGil gil;
      TlValue v{};
      v.tag = TL_OBJECT;
      v.u.p = Object<T>::to(x).release();
      return v;
    }
  };
  template <class M, class K, class V>
  struct CrossDict : CrossObject<M> {
    static std::string name() { return "Dict(" + Cross<K>::name() + ", " + Cross<V>::name() + ")"; }
  };
  template <class K, class V>
  struct Cross<Dict<K, V>> : CrossDict<Dict<K, V>, K, V> {};
  template <class K, class V>
  struct Cross<std::unordered_map<K, V>> : CrossDict<std::unordered_map<K, V>, K, V> {};
  template <class K, class V>
  struct Cross<std::map<K, V>> : CrossDict<std::map<K, V>, K, V> {};
  template <class A, class B>
  struct Cross<std::pair<A, B>> : CrossObject<std::pair<A, B>> {
    static std::string name() { return Cross<std::tuple<A, B>>::name(); }
  };
  template <class... T>
  struct Cross<std::tuple<T...>> : CrossObject<std::tuple<T...>> {
    static std::string name() { return Result<std::tuple<T...>>::name(); }
  };
  template <class T>
  struct Cross<intrusive_ptr<T>> : CrossObject<intrusive_ptr<T>> {
    static std::string name() { return class_entry(typeid(T)).name; }
  };
  template <>
  struct Cross<IValue> : CrossObject<IValue> {
    static std::string name() { return "Any"; }
  };

  // ---- calls from Python ------------------------------------------------------------------------------------------
  // A function of C++ that takes a tuple of Python: a capsule with it is the `self` of a function of Python.
  using Callable = std::function<::tl::PyRef(PyObject* args)>;
  inline constexpr const char* kCallable = "tl.torch.callable." TL_FACE_VERSION;
  inline PyObject* run_callable(PyObject* capsule, PyObject* args) {
    ::tl::PyRef result;
    auto* callable = static_cast<Callable*>(PyCapsule_GetPointer(capsule, kCallable));
    if (guarded([&] { result = (*callable)(args); }) != 0) python().raise_pending();
    return result.release();
  }
  inline PyMethodDef callable_method = {"call", run_callable, METH_VARARGS, nullptr};
  [[gnu::noinline]] inline ::tl::PyRef function_of(Callable f) {
    auto drop = [](PyObject* o) { delete static_cast<Callable*>(PyCapsule_GetPointer(o, kCallable)); };
    auto owned = std::make_unique<Callable>(std::move(f));
    const auto capsule = at::face::checked(PyCapsule_New(owned.get(), kCallable, drop));
    owned.release();
    return at::face::checked(PyCFunction_New(&callable_method, capsule.get()));
  }
  [[noreturn, gnu::cold, gnu::noinline]] inline void refuse_count(size_t wanted, Py_ssize_t count) {
    fail<TypeError>("", "expected ", wanted, " arguments, got ", count);
  }
  // Calls a function with the elements of a tuple, without the lock of the interpreter.
  template <class S>
  struct ObjectCall;
  template <class R, class... A>
  struct ObjectCall<R(A...)> {
    template <class F>
    static ::tl::PyRef call(F& f, PyObject* args) {
      if (PyTuple_GET_SIZE(args) != Py_ssize_t(sizeof...(A)))
        refuse_count(sizeof...(A), PyTuple_GET_SIZE(args));
      return call(f, args, std::index_sequence_for<A...>{});
    }

   private:
    template <class P>
    using Owned = decltype(Object<std::decay_t<P>>::from(nullptr));
    template <class F, size_t... I>
    static ::tl::PyRef call(F& f, [[maybe_unused]] PyObject* args, std::index_sequence<I...>) {
      [[maybe_unused]] std::tuple<Owned<A>...> owned{
          Object<std::decay_t<A>>::from(PyTuple_GET_ITEM(args, Py_ssize_t(I)))...};
      if constexpr (std::is_void_v<R>) {
        ::tl::WithoutGil none;
        f(pass<A>(std::get<I>(owned))...);
      } else {
        auto result = [&]() -> std::decay_t<R> {
          ::tl::WithoutGil none;
          return f(pass<A>(std::get<I>(owned))...);
        }();
        return Object<std::decay_t<R>>::to(result);
      }
      return ::tl::PyRef::share(Py_None);
    }
  };
  }  // namespace face
}
}  // namespace c10

#endif  // TL_TORCH_OBJECTS_HPP

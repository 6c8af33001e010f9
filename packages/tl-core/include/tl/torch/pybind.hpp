// pybind11 for extensions written for PyTorch: its values as arguments and results, its errors as exceptions.
#ifndef TL_TORCH_PYBIND_HPP
#define TL_TORCH_PYBIND_HPP

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <tl/torch/aten.hpp>

namespace py = pybind11;

namespace c10 {
TL_FACE {
  namespace face {
  inline void translate(std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const LoadError& e) {
      PyErr_SetString(PyExc_ImportError, e.what());
    } catch (const Error& e) {
      e.restore();
      python().raise_pending();
    }
  }
  // Registered before the module is, for this extension alone.
  inline const bool translates = [] {
    pybind11::gil_scoped_acquire gil;
    pybind11::register_local_exception_translator(translate);
    return true;
  }();
  // A value of Python as an operator's argument of this kind; false, without an exception, if it is none.
  inline bool value_of(PyObject* o, int kind, TlValue& v, void*& scratch) {
    scratch = nullptr;
    if (python().to_value(o, kind, &v, &scratch) == 0) return true;
    PyErr_Clear();
    return false;
  }
  }  // namespace face
}
}  // namespace c10

namespace pybind11::detail {

template <>
struct type_caster<at::Tensor> {
  PYBIND11_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"));
  bool load(handle source, bool) {
    TlTensor* t = c10::face::python().unwrap(source.ptr());
    if (!t) return false;
    value = at::Tensor::share(t);
    return true;
  }
  static handle cast(const at::Tensor& t, return_value_policy, handle) {
    if (!t.defined()) return none().release();  // an undefined tensor is None
    PyObject* object = c10::face::python().wrap(at::Tensor(t).release());
    if (!object) throw error_already_set();
    return object;
  }
};

// Runs of numbers have memory of their own while the call lasts.
template <class T>
struct tl_run_caster {
  PYBIND11_TYPE_CASTER(c10::ArrayRef<T>, const_name("tuple[") + make_caster<T>::name + const_name(", ...]"));
  bool load(handle source, bool convert) {
    if (!isinstance<sequence>(source) || isinstance<str>(source)) return false;
    items.clear();
    for (auto item : reinterpret_borrow<sequence>(source)) {
      make_caster<T> caster;
      if (!caster.load(item, convert)) return false;
      items.push_back(cast_op<T>(caster));
    }
    value = items;
    return true;
  }
  static handle cast(c10::ArrayRef<T> run, return_value_policy policy, handle parent) {
    tuple result(run.size());
    for (size_t i = 0; i < run.size(); ++i)
      result[i] = reinterpret_steal<object>(make_caster<T>::cast(run[i], policy, parent));
    return result.release();
  }
  std::vector<T> items;
};
template <>
struct type_caster<c10::ArrayRef<int64_t>> : tl_run_caster<int64_t> {};
template <>
struct type_caster<c10::ArrayRef<double>> : tl_run_caster<double> {};
template <>
struct type_caster<c10::ArrayRef<at::Tensor>> : tl_run_caster<at::Tensor> {};

// Values that the interface converts: numbers, types, devices, layouts, generators.
#define TL_FACE_CASTER(TYPE, NAME, KIND, FROM, TO)                            \
  template <>                                                                 \
  struct type_caster<TYPE> {                                                  \
   public:                                                                    \
    static constexpr auto name = const_name(NAME);                            \
    template <class T>                                                        \
    using cast_op_type = movable_cast_op_type<T>;                             \
    operator TYPE*() { return &*value; }                                      \
    operator TYPE&() { return *value; }                                       \
    operator TYPE&&() && { return std::move(*value); }                        \
    bool load(handle source, bool) {                                          \
      TlValue v{};                                                            \
      void* scratch;                                                          \
      if (source.is_none()) return false;                                     \
      if (!c10::face::value_of(source.ptr(), KIND, v, scratch)) return false; \
      value.emplace(FROM);                                                    \
      c10::face::python().scratch_free(scratch);                              \
      return true;                                                            \
    }                                                                         \
    static handle cast(const TYPE& x, return_value_policy, handle) {          \
      PyObject* object = TO;                                                  \
      if (!object) throw error_already_set();                                 \
      return object;                                                          \
    }                                                                         \
    std::optional<TYPE> value;                                                \
  };
namespace tl_face {
inline PyObject* object_of(const at::face::Value& borrowed) {
  TlValue owned{};
  if (c10::face::api().value_own(&borrowed, &owned) != 0) {
    c10::face::python().raise_pending();
    return nullptr;
  }
  return c10::face::python().from_value(&owned);
}
}  // namespace tl_face
TL_FACE_CASTER(c10::Scalar, "float", TL_ARG_SCALAR, c10::Scalar(v), tl_face::object_of(x))
TL_FACE_CASTER(c10::ScalarType, "torch.dtype", TL_ARG_DTYPE, c10::face::type_of(v.u.i), tl_face::object_of(x))
TL_FACE_CASTER(c10::Device, "torch.device", TL_ARG_DEVICE, c10::face::device_of(v.u.i), tl_face::object_of(x))
TL_FACE_CASTER(c10::Layout, "torch.layout", TL_ARG_LAYOUT, c10::face::kLayouts[v.u.i], tl_face::object_of(x))
TL_FACE_CASTER(c10::MemoryFormat, "torch.memory_format", TL_ARG_MEMORY_FORMAT, c10::MemoryFormat(v.u.i),
               tl_face::object_of(x))
TL_FACE_CASTER(at::Generator, "torch.Generator", TL_ARG_GENERATOR,
               at::Generator::share(static_cast<TlGenerator*>(const_cast<void*>(v.u.p))),
               tl_face::object_of(x))
#undef TL_FACE_CASTER

template <class T>
struct type_caster<std::complex<T>, std::enable_if_t<false, T>>;

template <class T>
struct type_caster<c10::List<T>> {
  PYBIND11_TYPE_CASTER(c10::List<T>, const_name("list[") + make_caster<T>::name + const_name("]"));
  bool load(handle source, bool convert) {
    make_caster<std::vector<T>> caster;
    if (!caster.load(source, convert)) return false;
    value = c10::List<T>(cast_op<std::vector<T>>(std::move(caster)));
    return true;
  }
  static handle cast(const c10::List<T>& l, return_value_policy policy, handle parent) {
    return make_caster<std::vector<T>>::cast(l.vec(), policy, parent);
  }
};

}  // namespace pybind11::detail

PYBIND11_DECLARE_HOLDER_TYPE(T, c10::intrusive_ptr<T>, true)

// PyTorch's names of these conversions.
inline bool THPVariable_Check(PyObject* o) { return c10::face::python().unwrap(o) != nullptr; }
inline bool THPVariable_CheckExact(PyObject* o) { return THPVariable_Check(o); }
inline at::Tensor THPVariable_Unpack(PyObject* o) {
  TlTensor* t = c10::face::python().unwrap(o);
  if (!t) at::face::refuse_object(o);
  return at::Tensor::share(t);
}
inline PyObject* THPVariable_Wrap(const at::Tensor& t) { return at::face::object(t).release(); }

#endif  // TL_TORCH_PYBIND_HPP

// pybind11 for extensions on tl/tl.hpp: tensors as arguments and results, tl's errors as Python's exceptions.
//
//   tl::Tensor doubled(const tl::Tensor& x) { return tl::Operator::find("mul.Tensor")(x, 2).tensor(); }
//   PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
//     tl::begin(m);
//     m.def("doubled", &doubled);
//   }
#ifndef TL_PYBIND_HPP
#define TL_PYBIND_HPP

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <tl/tl.hpp>

namespace pybind11::detail {

template <>
struct type_caster<tl::Tensor> {
  PYBIND11_TYPE_CASTER(tl::Tensor, const_name("Tensor"));

  bool load(handle source, bool) {
    TlTensor* found = tl::python().unwrap(source.ptr());
    if (!found) return false;
    value = tl::Tensor::share(found);
    return true;
  }
  // An empty handle is None.
  static handle cast(const tl::Tensor& t, return_value_policy, handle) {
    if (!t) return none().release();
    PyObject* object = tl::python().wrap(tl::Tensor(t).release());
    if (!object) throw error_already_set();
    return object;
  }
};

}  // namespace pybind11::detail

namespace tl {

namespace detail {
inline void translate(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const Pending&) {
    python().raise_pending();
  } catch (const Error& e) {
    api().error_set(e.kind(), e.what());
    python().raise_pending();
  }
}
}  // namespace detail

// First of all in a module: fetches tl's tables, whose newest minor that is used is `min_minor`.
inline void begin(pybind11::module_&, uint32_t min_minor = 0) {
  if (!load(min_minor)) throw pybind11::error_already_set();
  pybind11::register_local_exception_translator(detail::translate);
}

}  // namespace tl

#endif  // TL_PYBIND_HPP

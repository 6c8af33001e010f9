// A tensor as a Python number or as nested lists: one element is read by an operator, lists from memory on
// the host.
#include "bind/tensor_conversions.h"

#include "bind/override.h"
#include "bind/quantized.h"
#include "bind/result.h"
#include "bind/tensor_object.h"
#include "dispatch/lazy_bits.h"
#include "ops.h"
#include "ops/shared/known_values.h"
#include "tensor/shrunk.h"

namespace tl::bind {

namespace {
Scalar item_of(PyObject* o) {
  static const Operator& op = operator_named("_local_scalar_dense");
  return call_typed<Scalar>(op, tensor_of(o));
}

int truth(PyObject* o) {
  if (wants_override(o)) {
    const PyRef answer(override_method("__bool__", o));
    if (!answer || PyBool_Check(answer.get())) return answer ? answer.get() == Py_True : -1;
    PyErr_Format(PyExc_TypeError, "__bool__ should return bool, returned %s", Py_TYPE(answer.get())->tp_name);
    return -1;
  }
  return translated(
      [&] {
        const Tensor& t = tensor_of(o);
        TL_CHECK(t.numel() != 0, Runtime, "Boolean value of Tensor with no values is ambiguous");
        TL_CHECK(t.numel() == 1, Runtime, "Boolean value of Tensor with more than one value is ambiguous");
        return static_cast<int>(item_of(o).to_bool());
      },
      -1);
}

Scalar number_of(PyObject* o) {
  const int64_t elements = tensor_of(o).numel();
  TL_CHECK(elements == 1, Value, "only one element tensors can be converted to Python scalars, got ",
           elements, " elements");
  return item_of(o);
}

template <class Convert>
PyObject* converted(PyObject* o, const char* type, Convert convert) {
  return translated(
      [&]() -> PyObject* {
        const Scalar s = number_of(o);
        TL_CHECK(!s.is_complex() || s.to_complex().im == 0, Runtime, "value cannot be converted to type ",
                 type, " without overflow");
        return convert(s);
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* to_float(PyObject* o) {
  if (wants_override(o)) return override_method("__float__", o);
  return converted(o, "double", [](const Scalar& s) { return PyFloat_FromDouble(s.to_double()); });
}
PyObject* to_int(PyObject* o) {
  if (wants_override(o)) return override_method("__int__", o);
  return converted(o, "int64_t", [](const Scalar& s) {
    if (s.is_bool()) return PyLong_FromLong(s.to_bool());
    return s.is_int() ? scalar_to_python(s) : PyLong_FromDouble(s.to_double());
  });
}
PyObject* to_index(PyObject* o) {
  if (wants_override(o)) return override_method("__index__", o);
  return translated(
      [&]() -> PyObject* {
        const Tensor& t = tensor_of(o);
        TL_CHECK(is_integral(t.dtype(), true) && t.numel() == 1, Type,
                 "only integer tensors of a single element can be converted to an index");
        return PyLong_FromLongLong(item_of(o).to_int());
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* element_to_python(DType dtype, const char* p) {
  switch (dtype) {
    case DType::Float32:
      return PyFloat_FromDouble(*reinterpret_cast<const float*>(p));
    case DType::Float64:
      return PyFloat_FromDouble(*reinterpret_cast<const double*>(p));
    case DType::Int64:
      return PyLong_FromLongLong(*reinterpret_cast<const int64_t*>(p));
    default:
      return scalar_to_python(load_scalar(dtype, p));
  }
}

PyObject* nested_list(const Tensor& t, int64_t d, const char* p) {
  if (d == t.dim()) return element_to_python(t.dtype(), p);
  PyRef list = checked(PyList_New(t.size(d)));
  const int64_t step = t.numel() ? t.byte_stride(d) : 0;  // without elements there is no address to move
  for (int64_t i = 0; i < t.size(d); ++i)
    PyList_SET_ITEM(list.get(), i, checked(nested_list(t, d + 1, p + i * step)).release());
  return list.release();
}
}  // namespace

void check_has_memory(const Tensor& t) {
  TL_CHECK(!t.is_sparse(), Runtime, "Cannot access data pointer of Tensor that doesn't have storage");
  check_is_no_batch(t, "the memory");
  check_inside_storage(*t.impl());
}

PyObject* tensor_item(PyObject* o, PyObject*) {
  return translated([&] { return scalar_to_python(item_of(o)); }, static_cast<PyObject*>(nullptr));
}

PyObject* tensor_to_list(PyObject* o, PyObject*) {
  return translated(
      [&]() -> PyObject* {
        const PyRef numbers = checked(numbers_object(o));
        const Tensor& t = tensor_of(numbers.get());
        check_has_memory(t);
        const Tensor host = resolved(t.device().is_cpu() ? t : ops::to_device(t, Device{}, std::nullopt));
        return nested_list(host, 0, host.ptr<char>());
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* tensor_to_complex(PyObject* o, PyObject*) {
  return translated(
      [&]() -> PyObject* {
        const Complex128 c = number_of(o).to_complex();
        return PyComplex_FromDoubles(c.re, c.im);
      },
      static_cast<PyObject*>(nullptr));
}

void add_conversion_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot more[] = {
      {Py_nb_bool, slot(truth)},
      {Py_nb_float, slot(to_float)},
      {Py_nb_int, slot(to_int)},
      {Py_nb_index, slot(to_index)},
  };
  slots.insert(slots.end(), std::begin(more), std::end(more));
}

}  // namespace tl::bind

#include "bind/argument_to_python.h"

#include <algorithm>
#include <cstring>

#include "bind/error.h"
#include "bind/generator_object.h"
#include "bind/result.h"
#include "bind/tensor_object.h"
#include "bind/types.h"

namespace tl::bind {

namespace {
// A list of `n` objects, each made by `item(i)`.
template <class F>
PyObject* list_of(uint32_t n, F item) {
  PyRef list = checked(PyList_New(n));
  for (uint32_t i = 0; i < n; ++i) PyList_SET_ITEM(list.get(), i, checked(item(i)).release());
  return list.release();
}

PyObject* tensor_list(const TlValue& v) {
  const auto* items = static_cast<const Tensor*>(v.u.p);
  return list_of(v.len, [&](uint32_t i) { return items[i] ? wrap(items[i]) : Py_NewRef(Py_None); });
}

PyObject* string_object(const TlValue& v) {
  return PyUnicode_FromStringAndSize(static_cast<const char*>(v.u.p), v.len);
}

PyObject* other_list(const TlValue& v) {
  switch (v.tag) {
    case TL_INT_LIST:
      return list_of(v.len,
                     [&](uint32_t i) { return PyLong_FromLongLong(static_cast<const int64_t*>(v.u.p)[i]); });
    case TL_FLOAT_LIST:
      return list_of(v.len,
                     [&](uint32_t i) { return PyFloat_FromDouble(static_cast<const double*>(v.u.p)[i]); });
    case TL_BOOL_LIST:
      return list_of(v.len,
                     [&](uint32_t i) { return PyBool_FromLong(static_cast<const uint8_t*>(v.u.p)[i]); });
    default:
      return list_of(v.len,
                     [&](uint32_t i) { return argument_to_python(static_cast<const TlValue*>(v.u.p)[i]); });
  }
}

PyObject* other(const TlValue& v) {
  switch (v.tag) {
    case TL_BOOL:
    case TL_INT:
    case TL_FLOAT:
    case TL_COMPLEX:
      return scalar_to_python(Scalar::from(v));
    case TL_DTYPE:
      return Py_NewRef(dtype_object(dtype_from_abi(v.u.i)));
    case TL_DEVICE:
      return device_object(device_from_abi(v.u.i));
    case TL_LAYOUT:
      return Py_NewRef(layout_object(static_cast<Layout>(v.u.i)));
    case TL_MEMORY_FORMAT:
      return Py_NewRef(memory_format_object(static_cast<MemoryFormat>(v.u.i)));
    case TL_STRING:
      return string_object(v);
    case TL_OBJECT:
      return Py_NewRef(static_cast<PyObject*>(const_cast<void*>(v.u.p)));
    case TL_GENERATOR: {
      auto* generator = static_cast<Generator*>(const_cast<void*>(v.u.p));
      TlValue shared = owned_copy(v);
      (void)shared;  // wrap_generator takes over this share
      return wrap_generator(generator);
    }
    default:
      fail(ErrorKind::Type, "an argument with the tag ", static_cast<int>(v.tag), " has no Python form");
  }
}

bool same_bytes(const TlValue& a, const TlValue& b, size_t item) {
  return a.len == b.len && (a.len == 0 || std::memcmp(a.u.p, b.u.p, a.len * item) == 0);
}
}  // namespace

PyObject* argument_to_python(const TlValue& v) {
  if (v.tag == TL_TENSOR) return wrap(reinterpret_cast<const Tensor&>(v.u.t));
  if (v.tag == TL_NONE) return Py_NewRef(Py_None);
  if (v.tag == TL_TENSOR_LIST) return tensor_list(v);
  return v.tag >= TL_BOOL_LIST ? other_list(v) : other(v);
}

bool is_default(const Operator& op, int arg, const TlValue& v) {
  if (!op.info.args[arg].has_default) return false;
  const TlValue& d = op.defaults[arg];
  if (d.tag != v.tag) return false;
  switch (v.tag) {
    case TL_NONE:
      return true;
    case TL_TENSOR:
    case TL_TENSOR_LIST:
    case TL_GENERATOR:
    case TL_COMPLEX:
    case TL_SCALAR_LIST:
      return false;
    case TL_FLOAT:
      return d.u.f == v.u.f;
    case TL_STRING:
    case TL_BOOL_LIST:
      return same_bytes(d, v, 1);
    case TL_INT_LIST:
      return same_bytes(d, v, sizeof(int64_t));
    case TL_FLOAT_LIST:
      return same_bytes(d, v, sizeof(double));
    case TL_OBJECT:
      return d.u.p == v.u.p;
    default:
      return d.u.i == v.u.i && d.len == v.len;
  }
}

}  // namespace tl::bind

// Python objects as tensors, element types and devices, and the other functions that came after version 2.13.
// The caller holds the interpreter's lock where an object of Python is passed.
#include "stable_abi/operators.h"
#include "tl/python.hpp"

namespace tl::stable {

namespace {
TlTensor* tensor_in(PyObject* object) {
  TlTensor* t = python().unwrap(object);
  if (!t) fail(std::string("expected a Tensor, got ") + Py_TYPE(object)->tp_name);
  return t;
}

PyObject* object_of_tensor(Handle h, PyObject* type) {
  TlTensor* t = tensor_of(h);
  api().tensor_retain(t);
  Ref object = checked(python().wrap(t));
  if (!type || reinterpret_cast<PyObject*>(Py_TYPE(object.get())) == type) return object.release();
  return checked(PyObject_CallMethod(object.get(), "as_subclass", "O", type)).release();
}

// The number in an object that stands for an element type or a device.
int64_t number_in(PyObject* object, TlArgKind kind) {
  TlValue value = tagged(TL_NONE);
  void* scratch = nullptr;
  if (object == Py_None || python().to_value(object, kind, &value, &scratch) != 0) {
    if (PyErr_Occurred()) throw_python();
    fail("None stands for no element type or device");
  }
  if (scratch) python().scratch_free(scratch);
  return value.u.i;
}

bool warns_always() {
  const Gil lock;
  const Ref core = checked(import_module("tl_core"));
  const Ref on = checked(PyObject_CallMethod(core.get(), "is_warn_always_enabled", nullptr));
  return on.get() == Py_True;
}
}  // namespace

}  // namespace tl::stable

using namespace tl::stable;

TL_STABLE Status torch_has_storage(Handle h, bool* ret) {
  TlTensor* t = tensor_or_null(h);
  *ret = t && api().tensor_storage_id(t) != nullptr;
  return 0;
}

TL_STABLE Status torch_is_tensor_pyobject(PyObject* object, bool* ret) {
  *ret = python().unwrap(object) != nullptr;
  return 0;
}
TL_STABLE Status torch_tensor_from_pyobject(PyObject* object, Handle* ret) {
  return attempt([&] { *ret = shared_handle(tensor_in(object)); });
}
TL_STABLE Status torch_tensor_to_pyobject(Handle h, PyObject* type, PyObject** ret) {
  return attempt([&] { *ret = object_of_tensor(h, type); });
}

TL_STABLE Status torch_dtype_from_pyobject(PyObject* object, int32_t* ret) {
  return attempt([&] { *ret = dtype_to_stable(number_in(object, TL_ARG_DTYPE)); });
}
TL_STABLE Status torch_dtype_to_pyobject(int32_t dtype, PyObject** ret) {
  return attempt([&] {
    PyObject* borrowed = python().dtype_object(dtype_from_stable(dtype));
    if (!borrowed) throw_python();
    *ret = Py_NewRef(borrowed);
  });
}
TL_STABLE Status torch_device_from_pyobject(PyObject* object, int32_t* type, int32_t* index) {
  return attempt([&] {
    const int64_t device = number_in(object, TL_ARG_DEVICE);
    *type = device_type_to_stable(device);
    *index = TL_DEVICE_INDEX(device);
  });
}
TL_STABLE Status torch_device_to_pyobject(int32_t type, int32_t index, PyObject** ret) {
  return attempt([&] { *ret = checked(python().device_object(device_from_stable(type, index))).release(); });
}

TL_STABLE bool torch_is_warn_always_enabled() {
  bool on = false;
  attempt([&] { on = warns_always(); });
  return on;
}

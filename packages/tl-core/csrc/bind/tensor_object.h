// The Python object of a tensor: one for life, found again through the tensor it wraps.
#pragma once

#include <Python.h>
#include <structmember.h>

#include "tensor/tensor.h"

namespace tl::bind {

struct TensorObject {
  PyObject_HEAD TensorImpl* impl;  // owned, unless the impl owns the object (TensorImpl::OwnsPython)
  PyObject* dict;
  PyObject* weak;
};

extern PyTypeObject* g_tensor_type;

inline bool is_tensor(PyObject* o) {
  return Py_TYPE(o) == g_tensor_type || PyType_IsSubtype(Py_TYPE(o), g_tensor_type);
}
inline TensorImpl* impl_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->impl; }
inline const Tensor& tensor_of(PyObject* o) {
  return reinterpret_cast<const Tensor&>(reinterpret_cast<TensorObject*>(o)->impl);
}

PyObject* wrap(Tensor t);                         // the tensor's one object
PyObject* wrap_as(Tensor t, PyTypeObject* type);  // a fresh object of a subclass; the tensor must have none
// Each object gets the other's tensor and attributes; raises where something else holds one of the tensors.
void swap_contents(PyObject* a, PyObject* b);
void add_tensor_type(PyObject* module);

}  // namespace tl::bind

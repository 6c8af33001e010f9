// The bridge to tl-core's Python tensors, and Python errors as C++ exceptions.
#include "bind/python.h"

namespace tl::autograd {

const TlPython* bridge = nullptr;

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError();
}

TlTensor* tensor_of(PyObject* o) {
  TlTensor* t = bridge->unwrap(o);
  if (!t) raise(PyExc_TypeError, std::string("expected a Tensor, got ") + Py_TYPE(o)->tp_name);
  return t;
}

PyRef wrapped(Tensor t) {
  if (!t) return PyRef::share(Py_None);
  return checked(bridge->wrap(t.take()));
}

void track(TlTensor* t) {
  PyObject* o = bridge->wrapper(t);
  if (o && !PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

}  // namespace tl::autograd

// The type of a program's packed operands. Its method calls a function that reads and makes them.
#include "bind/packings.h"

#include "bind/error.h"
#include "dispatch/thread_state.h"
#include "tensor/packings.h"

namespace tl::bind {

namespace {
struct PackingsObject {
  PyObject_HEAD Packings* packings;
};

Packings*& packings_of(PyObject* o) { return reinterpret_cast<PackingsObject*>(o)->packings; }

// _Packings()
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "", const_cast<char**>(keywords))) return nullptr;
  PyObject* const o = type->tp_alloc(type, 0);
  if (o) packings_of(o) = new Packings;
  return o;
}

void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete packings_of(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// run(function, args, kwargs): the result of a call without gradients, whose products keep packed operands
// here
PyObject* run(PyObject* self, PyObject* const* args, Py_ssize_t n_args) {
  if (n_args != 3 || !PyTuple_Check(args[1]) || !PyDict_Check(args[2])) {
    PyErr_SetString(PyExc_TypeError, "run(function, args, kwargs) expects a tuple and a dictionary");
    return nullptr;
  }
  const PyRef alive(Py_NewRef(self));
  const PackingScope scope(packings_of(self));
  const NoGradGuard no_grad;
  return PyObject_Call(args[0], args[1], args[2]);
}

PyObject* nbytes(PyObject* self, void*) { return PyLong_FromSize_t(packings_of(self)->size()); }

PyMethodDef kMethods[] = {{"run", method(run), METH_FASTCALL, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef kAttributes[] = {{"nbytes", nbytes, nullptr, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot kSlots[] = {
    {Py_tp_new, slot(make)},
    {Py_tp_dealloc, slot(dealloc)},
    {Py_tp_methods, kMethods},
    {Py_tp_getset, kAttributes},
    {Py_tp_doc, const_cast<char*>("_Packings()\n--\n\nPacked copies of the operands of a program.")},
    {0, nullptr},
};
PyType_Spec kSpec = {"tl_core._C._Packings", sizeof(PackingsObject), 0, Py_TPFLAGS_DEFAULT, kSlots};
}  // namespace

void add_packings(PyObject* module) {
  PyRef type = checked(PyType_FromSpec(&kSpec));
  checked(PyModule_AddObjectRef(module, "_Packings", type.get()));
}

}  // namespace tl::bind

// Operators and packets of overloads as callable objects: a packet tries its overloads in order.
#include "bind/operator_object.h"

#include <structmember.h>

#include <span>
#include <vector>

#include "bind/error.h"
#include "bind/function.h"
#include "dispatch/operator.h"

namespace tl::bind {

namespace {
struct OperatorObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::vector<const Operator*>* operators;  // tried in this order
  PyObject* shown;                          // what overrides are told of; NULL: the object itself
};

OperatorObject& object_of(PyObject* o) { return *reinterpret_cast<OperatorObject*>(o); }

PyObject* call_object(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return translated(
      [&] {
        const OperatorObject& o = object_of(self);
        TL_CHECK(o.operators, Runtime, Py_TYPE(self)->tp_name, ".__init__ has not been called");
        return call_first(*o.operators, o.shown ? o.shown : self,
                          {nullptr, args, PyVectorcall_NARGS(nargsf), kwnames});
      },
      static_cast<PyObject*>(nullptr));
}

// Heap types below this one have no vectorcall of their own before Python 3.12.
PyObject* call_with_tuple(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (!kwargs || PyDict_GET_SIZE(kwargs) == 0)
    return call_object(self, &PyTuple_GET_ITEM(args, 0), static_cast<size_t>(PyTuple_GET_SIZE(args)),
                       nullptr);
  return PyVectorcall_Call(self, args, kwargs);
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) object_of(self).vectorcall = call_object;
  return self;
}

void resolve(OperatorObject& o, PyObject* names) {
  std::vector<const Operator*> found;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
    if (!name) throw PythonError();
    found.push_back(&operator_named(name));
  }
  if (!o.operators) o.operators = new std::vector<const Operator*>;
  *o.operators = std::move(found);
}

int init(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"names", "shown", nullptr};
  PyObject *names, *shown = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O", const_cast<char**>(keywords), &PyTuple_Type, &names,
                                   &shown))
    return -1;
  return translated(
      [&] {
        resolve(object_of(self), names);
        Py_XSETREF(object_of(self).shown, Py_XNewRef(shown));
        return 0;
      },
      -1);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object_of(self).shown);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(object_of(self).shown);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete object_of(self).operators;
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyTypeObject* make_type() {
  static PyType_Slot slots[] = {
      {Py_tp_new, slot(make)},
      {Py_tp_init, slot(init)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_clear, slot(clear)},
      {Py_tp_call, slot(call_with_tuple)},
      {Py_tp_members, g_members},
      {Py_tp_doc, const_cast<char*>("Calls the first of the named operators that takes the arguments.")},
      {0, nullptr},
  };
  static PyType_Spec spec = {
      "tl_core._C._Operator", sizeof(OperatorObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
}
}  // namespace

void add_operator_type(PyObject* module) {
  const PyRef type(reinterpret_cast<PyObject*>(make_type()));
  checked(PyModule_AddObjectRef(module, "_Operator", type.get()));
}

}  // namespace tl::bind

// Tries the recorded calls in their order, without Python around them. All else is left to a function.
#include "bind/replayed_call.h"

#include <structmember.h>

#include "bind/region_call.h"
#include "region.h"
#include "tl/python.hpp"

namespace tl::compiler {

namespace {
struct ReplayedCall {
  PyObject_HEAD PyObject* other;  // other(args, kwargs, whether the recorded calls were tried)
  PyObject* tapes;                // a list of (tape, whether it runs in a region), which the owner changes
  PyObject* conditions;           // ((list or dictionary, key, values), …): under which tapes may run
  PyObject* members;
  PyObject* weak_references;
  long long hits;
  PyObject* rest;       // in place of `other`, or null
  bool defers;          // whether operators of `rest` wait
  unsigned undeferred;  // calls of `rest` whose operators did not
};
constexpr unsigned kProbe = 64;  // such calls, of which one tries whether operators would wait

ReplayedCall* self_of(PyObject* object) { return reinterpret_cast<ReplayedCall*>(object); }

// Borrowed; null if there is none.
PyObject* value_at(PyObject* container, PyObject* key) {
  if (PyDict_CheckExact(container)) return PyDict_GetItemWithError(container, key);
  const Py_ssize_t i = PyLong_AsSsize_t(key);
  return i >= 0 && i < PyList_GET_SIZE(container) ? PyList_GET_ITEM(container, i) : nullptr;
}

bool holds(PyObject* condition) {
  PyObject* const value = value_at(PyTuple_GET_ITEM(condition, 0), PyTuple_GET_ITEM(condition, 1));
  PyObject* const values = PyTuple_GET_ITEM(condition, 2);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i)
    if (value == PyTuple_GET_ITEM(values, i)) return true;
  PyErr_Clear();  // of a key that can't be compared
  return false;
}

bool all_hold(PyObject* conditions) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(conditions); ++i)
    if (!holds(PyTuple_GET_ITEM(conditions, i))) return false;
  return true;
}

bool is_condition(PyObject* c) {
  if (!PyTuple_CheckExact(c) || PyTuple_GET_SIZE(c) != 3 || !PyTuple_CheckExact(PyTuple_GET_ITEM(c, 2)))
    return false;
  PyObject* const container = PyTuple_GET_ITEM(c, 0);
  return PyDict_CheckExact(container) ||
         (PyList_CheckExact(container) && PyLong_CheckExact(PyTuple_GET_ITEM(c, 1)));
}

// ReplayedCall(other, tapes, conditions)
PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *other, *tapes, *conditions;
  if (!PyArg_ParseTuple(args, "OO!O!", &other, &PyList_Type, &tapes, &PyTuple_Type, &conditions))
    return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(conditions); ++i)
    if (!is_condition(PyTuple_GET_ITEM(conditions, i))) {
      PyErr_SetString(
          PyExc_TypeError,
          "ReplayedCall(other, tapes, conditions): a condition is (list or dictionary, key, values)");
      return nullptr;
    }
  PyObject* const object = type->tp_alloc(type, 0);
  if (!object) return nullptr;
  ReplayedCall* const self = self_of(object);
  self->other = Py_NewRef(other);
  self->tapes = Py_NewRef(tapes);
  self->conditions = Py_NewRef(conditions);
  return object;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  ReplayedCall* const self = self_of(object);
  Py_VISIT(self->other);
  Py_VISIT(self->rest);
  Py_VISIT(self->tapes);
  Py_VISIT(self->conditions);
  Py_VISIT(self->members);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear(PyObject* object) {
  ReplayedCall* const self = self_of(object);
  Py_CLEAR(self->other);
  Py_CLEAR(self->rest);
  Py_CLEAR(self->tapes);
  Py_CLEAR(self->conditions);
  Py_CLEAR(self->members);
  return 0;
}

void destroy(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self_of(object)->weak_references) PyObject_ClearWeakRefs(object);
  clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

// A result; NotImplemented: the call is no recorded one; null with an exception.
PyObject* replay(PyObject* tapes, PyObject* args, PyObject* kwargs) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tapes); ++i) {
    PyObject* const pair = PyList_GET_ITEM(tapes, i);
    if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) break;
    const PyRef tape = PyRef::share(PyTuple_GET_ITEM(pair, 0));
    PyObject* const result = PyTuple_GET_ITEM(pair, 1) == Py_True ? call_in_region(tape.get(), args, kwargs)
                                                                  : PyObject_Call(tape.get(), args, kwargs);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
  }
  return Py_NewRef(Py_NotImplemented);
}

// A call that is no recorded one. Operators on few elements never wait, so that the layer which lets
// others wait is left out; from time to time a call shows whether this is still so.
PyObject* call_rest(ReplayedCall* self, PyObject* args, PyObject* kwargs) {
  const PyRef rest = PyRef::share(self->rest);
  if (self->defers) return call_in_region(rest.get(), args, kwargs);
  if (++self->undeferred % kProbe) return call_in_region(rest.get(), args, kwargs, false);
  const uint64_t before = sums_of_thread().large;
  PyObject* const result = call_in_region(rest.get(), args, kwargs);
  self->defers = sums_of_thread().large != before;
  return result;
}

// The result of a recorded call, or that of the other function.
PyObject* call(PyObject* object, PyObject* args, PyObject* kwargs) {
  static PyObject* const empty = PyDict_New();
  const PyRef alive = PyRef::share(object);
  ReplayedCall* const self = self_of(object);
  if (self->rest && PyList_GET_SIZE(self->tapes) == 0 && all_hold(self->conditions))
    return call_rest(self, args, kwargs ? kwargs : empty);
  const PyRef none(kwargs ? Py_NewRef(kwargs) : PyDict_New());
  if (!none) return nullptr;
  if (!self->other) {
    PyErr_SetString(PyExc_RuntimeError, "a replayed function is called while it is destroyed");
    return nullptr;
  }
  const bool tries = all_hold(self->conditions);
  if (tries) {
    PyObject* const result = replay(self->tapes, args, none.get());
    if (result != Py_NotImplemented) {
      if (result) ++self->hits;
      return result;
    }
    Py_DECREF(result);
    if (self->rest) return call_rest(self, args, none.get());
  }
  return PyObject_CallFunctionObjArgs(self->other, args, none.get(), tries ? Py_True : Py_False, nullptr);
}

// leave_to(function, defers): from now on, calls that are not recorded ones run this function in a region;
// None ends that.
PyObject* leave_to(PyObject* object, PyObject* args) {
  PyObject* rest;
  int defers;
  if (!PyArg_ParseTuple(args, "Op", &rest, &defers)) return nullptr;
  ReplayedCall* const self = self_of(object);
  self->defers = defers;
  Py_XSETREF(self->rest, rest == Py_None ? nullptr : Py_NewRef(rest));
  return Py_NewRef(Py_None);
}

PyMethodDef kMethods[] = {{"leave_to", leave_to, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ReplayedCall, members), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ReplayedCall, weak_references), READONLY, nullptr},
    {"hits", T_LONGLONG, offsetof(ReplayedCall, hits), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef kAttributes[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot kSlots[] = {
    {Py_tp_new, slot(create)},   {Py_tp_call, slot(call)},       {Py_tp_traverse, slot(traverse)},
    {Py_tp_clear, slot(clear)},  {Py_tp_dealloc, slot(destroy)}, {Py_tp_members, kMembers},
    {Py_tp_getset, kAttributes}, {Py_tp_methods, kMethods},      {0, nullptr}};
PyType_Spec kSpec = {"tl_compiler._C.ReplayedCall", sizeof(ReplayedCall), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, kSlots};
}  // namespace

int add_replayed_call(PyObject* module) {
  const PyRef type(PyType_FromSpec(&kSpec));
  return type ? PyModule_AddObjectRef(module, "ReplayedCall", type.get()) : -1;
}

}  // namespace tl::compiler

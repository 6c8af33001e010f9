// The only reference of a tape to Python's objects is its description, which the garbage collector sees.
#include "bind/tape_type.h"

#include <memory>

#include "region.h"
#include "replay/bridge.h"
#include "replay/frame.h"
#include "replay/tape.h"

namespace tl::compiler {

namespace {
struct TapeObject {
  PyObject_HEAD PyObject* description;
  Tape* tape;
};

TapeObject* self_of(PyObject* object) { return reinterpret_cast<TapeObject*>(object); }

// What is thrown on the way, as the exception of Python; null.
std::nullptr_t raise() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (...) {
    pending_from_exception();
    python->raise_pending();
  }
  return nullptr;
}

// The description without the tensors that only their metadata was read of: examples of arguments, gradients.
PyObject* without_examples(PyObject* description) {
  PyObject* const held = PyTuple_GET_ITEM(description, 5);
  const PyRef tensors(checked(PyTuple_New(PyTuple_GET_SIZE(held))));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); ++i)
    PyTuple_SET_ITEM(tensors.get(), i, Py_NewRef(PyTuple_GET_ITEM(PyTuple_GET_ITEM(held, i), 0)));
  PyRef items(checked(PyTuple_New(PyTuple_GET_SIZE(description))));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(description); ++i) {
    PyObject* const item = i == 4 ? Py_None : i == 5 ? tensors.get() : PyTuple_GET_ITEM(description, i);
    PyTuple_SET_ITEM(items.get(), i, Py_NewRef(item));
  }
  return items.release();
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* description;
  if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &description)) return nullptr;
  if (PyTuple_GET_SIZE(description) != 8) {
    PyErr_SetString(PyExc_ValueError, "Tape(description): expected eight parts");
    return nullptr;
  }
  PyRef object(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  TapeObject* const self = self_of(object.get());
  self->description = Py_NewRef(description);
  try {
    self->tape = new Tape(description);
    Py_SETREF(self->description, without_examples(description));
  } catch (...) {
    return raise();
  }
  return object.release();
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(self_of(object)->description);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear(PyObject* object) {
  delete std::exchange(self_of(object)->tape, nullptr);
  Py_CLEAR(self_of(object)->description);
  return 0;
}

void destroy(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

// The result of a call, or NotImplemented: the call is another one than the recorded.
PyObject* call(PyObject* object, PyObject* args, PyObject* kwargs) {
  static PyObject* const none = PyDict_New();
  TapeObject* const self = self_of(object);
  if (!self->tape) return Py_NewRef(Py_NotImplemented);
  const PyRef alive = PyRef::share(object);
  try {
    PyObject* const result = self->tape->run(args, kwargs ? kwargs : none);
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_NotImplemented);
  } catch (...) {
    return raise();
  }
}

PyObject* difference(PyObject* object, void*) {
  const Tape* const tape = self_of(object)->tape;
  return PyUnicode_FromString(tape ? tape->difference().c_str() : "");
}

PyObject* count(PyObject* object, void*) {
  const Tape* const tape = self_of(object)->tape;
  return PyLong_FromSize_t(tape ? tape->steps() : 0);
}

PyObject* fused_steps(PyObject* object, void*) {
  const Tape* const tape = self_of(object)->tape;
  return PyLong_FromSize_t(tape ? tape->fused_steps() : 0);
}

PyObject* dictionaries(PyObject* object, void*) {
  const Tape* const tape = self_of(object)->tape;
  return PyLong_FromSize_t(tape ? tape->dictionaries() : 0);
}

// world_fits() -> whether what the call has read, its arguments aside, is still the same
PyObject* world_fits(PyObject* object, PyObject*) {
  Tape* const tape = self_of(object)->tape;
  try {
    return PyBool_FromLong(tape && tape->world_fits());
  } catch (...) {
    return raise();
  }
}

// difference_of(args, kwargs) -> why a call is not the recorded one, or None if it is, values of tensors
// aside
PyObject* difference_of(PyObject* object, PyObject* call) {
  PyObject *args, *kwargs;
  if (!PyArg_ParseTuple(call, "O!O!", &PyTuple_Type, &args, &PyDict_Type, &kwargs)) return nullptr;
  Tape* const tape = self_of(object)->tape;
  try {
    if (tape && tape->fits(args, kwargs)) return Py_NewRef(Py_None);
    return difference(object, nullptr);
  } catch (...) {
    return raise();
  }
}

PyGetSetDef kAttributes[] = {{"difference", difference, nullptr, nullptr, nullptr},
                             {"steps", count, nullptr, nullptr, nullptr},
                             {"fused_steps", fused_steps, nullptr, nullptr, nullptr},
                             {"dictionaries", dictionaries, nullptr, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef kMethods[] = {{"world_fits", world_fits, METH_NOARGS, nullptr},
                          {"difference_of", difference_of, METH_VARARGS, nullptr},
                          {nullptr, nullptr, 0, nullptr}};
PyType_Slot kSlots[] = {{Py_tp_new, slot(create)},        {Py_tp_call, slot(call)},
                        {Py_tp_traverse, slot(traverse)}, {Py_tp_clear, slot(clear)},
                        {Py_tp_dealloc, slot(destroy)},   {Py_tp_getset, kAttributes},
                        {Py_tp_methods, kMethods},        {0, nullptr}};
PyType_Spec kSpec = {"tl_compiler._C.Tape", sizeof(TapeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                     kSlots};

// ---- functions ---------------------------------------------------------------------------------------------

PyObject* stack(PyObject*, PyObject* args) {
  PyObject *frame, *absent;
  Py_ssize_t n;
  if (!PyArg_ParseTuple(args, "OnO", &frame, &n, &absent)) return nullptr;
  return stack_top(frame, n, absent);
}

PyObject* variables(PyObject*, PyObject* args) {
  PyObject *frame, *absent;
  return PyArg_ParseTuple(args, "OO", &frame, &absent) ? variables_of(frame, absent) : nullptr;
}

TlTensor* tensor_of(PyObject* object) {
  TlTensor* const t = python->unwrap(object);
  if (!t) PyErr_Format(PyExc_TypeError, "expected a tensor, got %s", Py_TYPE(object)->tp_name);
  return t;
}

// memory_state(tensor) -> (the storage's address, the version)
PyObject* memory_state(PyObject*, PyObject* object) {
  TlTensor* const t = tensor_of(object);
  if (!t) return nullptr;
  const auto version = api->tensor_is_inference(t) ? 0 : api->tensor_version(t);
  return Py_BuildValue("nI", reinterpret_cast<Py_ssize_t>(api->tensor_storage_id(t)), version);
}

PyObject* read_support(PyObject*, PyObject*) { return PyBool_FromLong(reads_frames()); }
PyObject* read_traced(PyObject*, PyObject*) { return PyBool_FromLong(is_traced()); }

PyObject* function(PyObject*, PyObject* frame) { return function_of(frame); }
// operator_calls() -> how many operators this thread has called in compiled regions
PyObject* read_calls(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(sums_of_thread().calls); }
// operator_sums() -> the calls, a sum of operators and sizes, the elements of the results, calls on many
// elements
PyObject* read_sums(PyObject*, PyObject*) {
  const OperatorSums& sums = sums_of_thread();
  return Py_BuildValue("KKKK", sums.calls, sums.mixture, sums.elements, sums.large);
}

PyMethodDef kFunctions[] = {{"frame_function", function, METH_O, nullptr},
                            {"operator_calls", read_calls, METH_NOARGS, nullptr},
                            {"take_call", take_call, METH_NOARGS, nullptr},
                            {"watch_calls", watch_calls, METH_O, nullptr},
                            {"operator_sums", read_sums, METH_NOARGS, nullptr},
                            {"reads_frames", read_support, METH_NOARGS, nullptr},
                            {"is_traced", read_traced, METH_NOARGS, nullptr},
                            {"frame_stack", stack, METH_VARARGS, nullptr},
                            {"frame_variables", variables, METH_VARARGS, nullptr},
                            {"memory_state", memory_state, METH_O, nullptr},
                            {nullptr, nullptr, 0, nullptr}};
}  // namespace

int add_replay(PyObject* module) {
  const PyRef type(PyType_FromSpec(&kSpec));
  if (!type || PyModule_AddObjectRef(module, "Tape", type.get()) < 0) return -1;
  return PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tl::compiler

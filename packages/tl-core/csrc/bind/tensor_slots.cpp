// The slots of the tensor type: creation, iteration, indexing, and the tables of operators, properties and
// methods.
#include "bind/tensor_slots.h"

#include "bind/buffer.h"
#include "bind/index.h"
#include "bind/number_protocol.h"
#include "bind/override.h"
#include "bind/python_helpers.h"
#include "bind/tensor_conversions.h"
#include "bind/tensor_methods.h"
#include "bind/tensor_object.h"
#include "bind/tensor_properties.h"

namespace tl::bind {

namespace {
Py_hash_t hash(PyObject* o) { return _Py_HashPointer(o); }

PyObject* repr(PyObject* o) {
  if (wants_override(o)) return override_method("__repr__", o);
  return translated([&] { return run_python(PyObject_CallOneArg, python_helper("repr"), o); },
                    static_cast<PyObject*>(nullptr));
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return translated(
      [&]() -> PyObject* {
        const Py_ssize_t n = PyTuple_GET_SIZE(args);
        PyRef all = checked(PyTuple_New(n + 1));
        PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(type)));
        for (Py_ssize_t i = 0; i < n; ++i)
          PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
        return run_python(PyObject_Call, python_helper("new"), all.get(), kwargs);
      },
      static_cast<PyObject*>(nullptr));
}

int accept_init(PyObject*, PyObject*, PyObject*) { return 0; }

// The answer of an override, held to what Python asks of `__len__`.
Py_ssize_t length_of(PyObject* answer) {
  const Py_ssize_t n = PyNumber_AsSsize_t(answer, PyExc_OverflowError);
  if (n >= 0 || PyErr_Occurred()) return n < 0 ? -1 : n;
  PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
  return -1;
}

Py_ssize_t length(PyObject* o) {
  if (wants_override(o)) {
    const PyRef answer(override_method("__len__", o));
    return answer ? length_of(answer.get()) : -1;
  }
  return translated(
      [&]() -> Py_ssize_t {
        TL_CHECK(tensor_of(o).dim() > 0, Type, "len() of a 0-d tensor");
        return tensor_of(o).size(0);
      },
      Py_ssize_t{-1});
}

// An override may return a tensor, which is iterated in its turn.
PyObject* iterate(PyObject* o) {
  if (Py_EnterRecursiveCall(" while iterating over a tensor")) return nullptr;
  PyObject* iterator = translated(
      [&]() -> PyObject* {
        TL_CHECK(tensor_of(o).dim() > 0, Type, "iteration over a 0-d tensor");
        PyRef parts = checked(run_python(PyObject_CallMethod, o, "unbind", "i", 0));
        return PyObject_GetIter(parts.get());
      },
      static_cast<PyObject*>(nullptr));
  Py_LeaveRecursiveCall();
  return iterator;
}
}  // namespace

void add_tensor_slots(std::vector<PyType_Slot>& slots) {
  add_number_slots(slots);
  add_conversion_slots(slots);
  const PyType_Slot more[] = {
      {Py_tp_hash, slot(hash)},
      {Py_tp_repr, slot(repr)},
      {Py_tp_new, slot(make)},
      {Py_tp_init, slot(accept_init)},
      {Py_tp_iter, slot(iterate)},
      {Py_mp_length, slot(length)},
      {Py_mp_subscript, slot(get_item)},
      {Py_mp_ass_subscript, slot(set_item)},
      {Py_tp_getset, overridable_properties()},
      {Py_tp_methods, overridable_methods()},
      {Py_bf_getbuffer, slot(get_buffer)},
      {Py_bf_releasebuffer, slot(release_buffer)},
  };
  slots.insert(slots.end(), std::begin(more), std::end(more));
}

}  // namespace tl::bind

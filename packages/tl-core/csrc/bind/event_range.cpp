// The range type of profiles: entering begins an event on the thread's log, leaving ends it.
#include "bind/event_range.h"

#include <structmember.h>

#include "base/event_log.h"
#include "bind/error.h"
#include "dispatch/operator_recorder.h"
#include "dispatch/recorded_values.h"

namespace tl::bind {

namespace {
struct EventRange {
  PyObject_HEAD PyObject* name;
  PyObject* arguments;  // NULL, or what a recording keeps of them
  int kind;
  OpenEvent open;
};

EventRange* as_range(PyObject* o) { return reinterpret_cast<EventRange*>(o); }

// _EventRange(name, arguments=None, kind=…): the block is an event while something is recorded
int init(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"name", "arguments", "kind", nullptr};
  PyObject *name, *arguments = Py_None;
  int kind = static_cast<int>(EventKind::Range);
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|Oi", const_cast<char**>(keywords), &name, &arguments,
                                   &kind))
    return -1;
  EventRange* r = as_range(self);
  Py_XSETREF(r->name, Py_NewRef(name));
  Py_XSETREF(r->arguments, arguments == Py_None ? nullptr : Py_NewRef(arguments));
  r->kind = kind;
  r->open = {};
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(as_range(self)->name);
  Py_XDECREF(as_range(self)->arguments);
  type->tp_free(self);
  Py_DECREF(type);
}

std::string_view text_of(PyObject* o) {
  Py_ssize_t n = 0;
  const char* text = PyUnicode_AsUTF8AndSize(o, &n);
  if (!text) {
    PyErr_Clear();  // lone surrogates
    return "?";
  }
  return {text, static_cast<size_t>(n)};
}

PyObject* enter(PyObject* self, PyObject*) {
  EventRange* r = as_range(self);
  if (is_recording() && is_recorded_thread()) {
    TlValue arguments{};
    int n = 0;
    if (r->arguments && PyUnicode_Check(r->arguments)) {
      const std::string_view text = text_of(r->arguments);
      arguments = {TL_STRING, static_cast<uint32_t>(text.size()), {.p = text.data()}};
      n = 1;
    }
    r->open = begin_event(static_cast<EventKind>(r->kind), text_of(r->name), recorded_bytes(&arguments, n));
    if (r->open) {
      record_values(&arguments, n, r->open.event->values());
      r->open.event->n_values = static_cast<uint8_t>(n);
      if (recording_options().stacks) r->open.event->stack = running_stack();
    }
  }
  return Py_NewRef(self);
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  end_event(as_range(self)->open);
  as_range(self)->open = {};
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", method(leave), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef kMembers[] = {
    {"name", T_OBJECT, offsetof(EventRange, name), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot kSlots[] = {
    {Py_tp_init, slot(init)},
    {Py_tp_dealloc, slot(dealloc)},
    {Py_tp_methods, kMethods},
    {Py_tp_members, kMembers},
    {Py_tp_doc,
     const_cast<char*>("_EventRange(name, arguments=None, kind=3)\n--\n\nA block that recordings list.")},
    {0, nullptr},
};
PyType_Spec kSpec = {"tl_core._C._EventRange", sizeof(EventRange), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, kSlots};
}  // namespace

void add_event_range(PyObject* module) {
  PyRef type = checked(PyType_FromSpec(&kSpec));
  checked(PyModule_AddObjectRef(module, "_EventRange", type.get()));
}

}  // namespace tl::bind

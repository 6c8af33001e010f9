// Error kinds as Python exception classes, and Python exceptions kept whole while C++ unwinds.
#include "bind/error.h"

#include <cerrno>
#include <cstring>

namespace tl::bind {

namespace {
PyObject* g_out_of_memory = nullptr;
PyObject* g_linalg = nullptr;
PyObject* g_out_of_memory_observer = nullptr;

PyObject* exception_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Value:
      return PyExc_ValueError;
    case ErrorKind::Type:
      return PyExc_TypeError;
    case ErrorKind::Index:
      return PyExc_IndexError;
    case ErrorKind::NotImplemented:
      return PyExc_NotImplementedError;
    case ErrorKind::OutOfMemory:
      return g_out_of_memory ? g_out_of_memory : PyExc_RuntimeError;
    case ErrorKind::Overflow:
      return PyExc_OverflowError;
    case ErrorKind::Attribute:
      return PyExc_AttributeError;
    case ErrorKind::Import:
      return PyExc_ImportError;
    case ErrorKind::Interrupt:
      return PyExc_KeyboardInterrupt;
    case ErrorKind::LinAlg:
      return g_linalg ? g_linalg : PyExc_RuntimeError;
    case ErrorKind::ZeroDivision:
      return PyExc_ZeroDivisionError;
    case ErrorKind::Key:
      return PyExc_KeyError;
    case ErrorKind::Os:
      return PyExc_OSError;
    case ErrorKind::Buffer:
      return PyExc_BufferError;
    case ErrorKind::Assertion:
      return PyExc_AssertionError;
    default:
      return PyExc_RuntimeError;
  }
}

// What fails in it is told as a warning: the error that is being raised says more.
std::string observe_out_of_memory() {
  if (!g_out_of_memory_observer) return {};
  PyRef text(run_python(PyObject_CallNoArgs, g_out_of_memory_observer));
  const char* utf8 = text && PyUnicode_Check(text.get()) ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!utf8) PyErr_WriteUnraisable(g_out_of_memory_observer);
  return utf8 ? utf8 : "";
}

void raise(ErrorKind kind, const std::string& message, void* payload) {
  if (kind == ErrorKind::Python && payload) {
    auto* exception = static_cast<PyObject*>(payload);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    Py_DECREF(exception);
    return;
  }
  if (kind == ErrorKind::OutOfMemory) [[unlikely]]
    return PyErr_SetString(exception_class(kind), cat(message, observe_out_of_memory()).c_str());
  PyErr_SetString(exception_class(kind), message.c_str());
}

// The Python exception that was just set, without it being pending.
PyRef take_exception() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const PyRef owned_type(type), owned_trace(trace);
  if (trace) PyException_SetTraceback(value, trace);
  return PyRef(value);
}

// The place becomes a note of the exception, the error that led to it its cause.
void add_origin(const ErrorOrigin& origin) {
  PyRef exception = take_exception();
  if (!origin.where.empty()) {
    const PyRef note(PyObject_CallMethod(exception.get(), "add_note", "s", origin.where.c_str()));
    if (!note) return;  // what went wrong is pending: there is no memory
  }
  if (origin.cause) {
    const PendingError& cause = *origin.cause;
    if (cause.payload) Py_INCREF(static_cast<PyObject*>(cause.payload));
    raise(cause.kind, cause.message, cause.payload);
    if (cause.origin) add_origin(*cause.origin);
    PyException_SetCause(exception.get(), take_exception().release());
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
}
}  // namespace

void set_out_of_memory_observer(PyObject* function) {
  Py_XSETREF(g_out_of_memory_observer, function == Py_None ? nullptr : Py_NewRef(function));
}

void raise(const Error& e) {
  if (const auto* file = dynamic_cast<const FileError*>(&e)) {
    errno = file->number;
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, file->path().c_str());
    return;
  }
  raise(e.kind, e.message, e.payload);
  if (e.origin) [[unlikely]]
    add_origin(*e.origin);
}

void raise_pending() {
  PendingError& pending = pending_error();
  const PendingError error = std::move(pending);
  pending = {};
  raise(error.kind, error.message, error.payload);
  if (error.origin) [[unlikely]]
    add_origin(*error.origin);
}

void pending_from_python() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  PyRef text(PyObject_Str(value));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string message = utf8 ? utf8 : "";
  if (PyErr_Occurred())
    PyErr_Clear();  // the message is a courtesy; the exception itself travels as the payload
  set_pending(ErrorKind::Python, std::move(message), value);
  Py_XDECREF(type);
  Py_XDECREF(trace);
}

void set_exception_class(const char* name, PyObject* type) {
  PyObject*& slot = std::strcmp(name, "OutOfMemoryError") == 0 ? g_out_of_memory : g_linalg;
  Py_XSETREF(slot, Py_NewRef(type));
}

}  // namespace tl::bind

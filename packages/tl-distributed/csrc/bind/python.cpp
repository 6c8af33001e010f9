// Failures as Python exceptions of tl_distributed's classes, and arguments as tensors and numbers.
#include "bind/python.h"

#include "base/failure.h"

namespace tl::distributed {

namespace {
const char* class_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::kNetwork:
      return "DistNetworkError";
    case FailureKind::kStore:
      return "DistStoreError";
    default:
      return "DistBackendError";
  }
}

void raise_failure(const Failure& failure) noexcept {
  PyRef module(PyImport_ImportModule("tl_distributed.base.errors"));
  if (!module) return;
  PyRef type(PyObject_GetAttrString(module.get(), class_of(failure.kind())));
  if (type) PyErr_SetString(type.get(), failure.what());
}
}  // namespace

void raise_from_exception() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const Failure& failure) {
    raise_failure(failure);
  } catch (...) {
    pending_from_exception();
    python().raise_pending();
  }
}

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError();
}

TlTensor* tensor_of(PyObject* o) {
  TlTensor* t = python().unwrap(o);
  if (!t) raise(PyExc_TypeError, std::string("expected a Tensor, got ") + Py_TYPE(o)->tp_name);
  return t;
}

int64_t integer_of(PyObject* o) {
  const long long value = PyLong_AsLongLong(o);
  if (value == -1 && PyErr_Occurred()) throw PythonError();
  return value;
}

std::string text_of(PyObject* o) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw PythonError();
  return {text, static_cast<size_t>(size)};
}

void check_count(const char* function, Py_ssize_t given, Py_ssize_t wanted) {
  if (given != wanted)
    raise(PyExc_TypeError, std::string(function) + ": got " + std::to_string(given) + " arguments, needs " +
                               std::to_string(wanted));
}

}  // namespace tl::distributed

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

PyRef tuple_of(const std::vector<int64_t>& numbers) {
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; i < numbers.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     checked(PyLong_FromLongLong(numbers[i])).release());
  return tuple;
}

void raise_failure(const Failure& failure) noexcept {
  try {
    PyRef module = checked(import_module("tl_distributed.base.errors"));
    PyRef type = checked(PyObject_GetAttrString(module.get(), class_of(failure.kind())));
    PyRef error = checked(PyObject_CallFunction(type.get(), "s", failure.what()));
    if (!failure.missing_ranks().empty())
      checked(PyObject_SetAttrString(error.get(), "missing_ranks", tuple_of(failure.missing_ranks()).get()));
    PyErr_SetObject(type.get(), error.get());
  } catch (const PythonError&) {
    // The exception that is set says why this one could not be made.
  }
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

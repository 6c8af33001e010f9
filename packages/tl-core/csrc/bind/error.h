// Between tl::Error and Python exceptions.
#pragma once

#include <Python.h>

#include "base/error.h"

namespace tl::bind {

// Thrown when a Python exception is already set.
struct PythonError {};

void raise_pending();  // the thread's pending error becomes a Python exception
void raise(const Error& error);
void pending_from_python();  // the other way round
// Called without arguments before OutOfMemoryError is raised; the text that it returns ends the message.
// None: nobody.
void set_out_of_memory_observer(PyObject* function);
void set_exception_class(const char* name, PyObject* type);  // OutOfMemoryError, LinAlgError

// Runs body where C++ exceptions must not pass: its value, or `failed` with a Python exception set.
template <class F, class R = decltype(std::declval<F>()())>
R translated(F&& body, R failed) noexcept {
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const Error& e) {
    raise(e);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return failed;
}

// An owned reference that lets go when the scope ends.
class PyRef {
 public:
  explicit PyRef(PyObject* p = nullptr) : p_(p) {}
  PyRef(PyRef&& o) noexcept : p_(o.release()) {}
  PyRef& operator=(PyRef&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() {
    PyObject* p = p_;
    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_; }

 private:
  PyObject* p_;
};

// The result of a C-API call that returns a new reference; throws if it failed.
inline PyRef checked(PyObject* p) {
  if (!p) throw PythonError();
  return PyRef(p);
}
inline void checked(int status) {
  if (status < 0) throw PythonError();
}

}  // namespace tl::bind

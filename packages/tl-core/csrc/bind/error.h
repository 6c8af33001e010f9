// Between tl::Error and Python exceptions.
#pragma once

#include <Python.h>

#include "base/error.h"
#include "tl/python.hpp"

namespace tl::bind {

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

}  // namespace tl::bind

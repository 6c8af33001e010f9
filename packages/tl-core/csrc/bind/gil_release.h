// Work without the interpreter's lock.
#pragma once

#include <Python.h>

#include <cerrno>

#include "tl/python.hpp"

namespace tl::bind {

// Runs body, without the lock where that pays; what it throws comes with the lock.
template <class F>
auto unlocked(bool pays, F&& body) {
  const WithoutGil others_run(pays);
  return body();
}

// Raises the OSError of a number of errno.
inline PyObject* raise_os_error(int error) {
  errno = error;
  return PyErr_SetFromErrno(PyExc_OSError);
}

}  // namespace tl::bind

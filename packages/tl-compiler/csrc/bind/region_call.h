// Calls of Python's functions in compiled regions.
#pragma once

#include <Python.h>

namespace tl::compiler {

// A new reference, or null with an exception.
PyObject* call_in_region(PyObject* function, PyObject* args, PyObject* kwargs);

}  // namespace tl::compiler

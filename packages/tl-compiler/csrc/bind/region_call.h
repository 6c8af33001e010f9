// Calls of Python's functions in compiled regions.
#pragma once

#include <Python.h>

namespace tl::compiler {

// A new reference, or null with an exception. Without `defers`, calls of operators compute at once.
PyObject* call_in_region(PyObject* function, PyObject* args, PyObject* kwargs, bool defers = true);

}  // namespace tl::compiler

// Operators that come at run time, and Python functions as kernels and layers' entries of any operator.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_python_kernels(PyObject* module);

}  // namespace tl::bind

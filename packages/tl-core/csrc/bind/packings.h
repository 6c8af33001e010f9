// Packed copies of a program's operands, for Python.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_packings(PyObject* module);

}  // namespace tl::bind

// Memory on a file, for Python.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_memory_map(PyObject* module);

}  // namespace tl::bind

// Checksums and checked transfers between files and memory, for Python.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_files(PyObject* module);

}  // namespace tl::bind

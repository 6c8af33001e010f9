// Checksums, checked transfers between files and memory, and the records of ZIP archives, for Python.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_files(PyObject* module);

}  // namespace tl::bind

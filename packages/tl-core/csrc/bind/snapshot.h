// Copies of tensors that are made while the program goes on, for Python.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_snapshots(PyObject* module);

}  // namespace tl::bind

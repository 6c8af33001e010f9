// Tensors without memory that stand for others: wrapper subclasses, and what claims to lie on a device.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_wrapper_subclasses(PyObject* module);

}  // namespace tl::bind

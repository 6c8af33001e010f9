// The commonest calls of transforms without Python's part: arguments that are tensors, one result.
#pragma once

#include <Python.h>

namespace tl::autograd {

void add_plain_calls(PyObject* module);

}  // namespace tl::autograd

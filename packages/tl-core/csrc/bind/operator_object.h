// The base of what calls operators by their full names: `ops.aten.add.Tensor`, `ops.aten.add`.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_operator_type(PyObject* module);

}  // namespace tl::bind

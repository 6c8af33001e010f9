// `overridable(function)`: a Python function of tensors whose arguments and modes may take a call over.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_overridable_type(PyObject* module);
PyObject* make_overridable(PyObject* function);  // a new reference, or NULL with an exception

}  // namespace tl::bind

// What a frame of Python holds while a trace function looks at it: the values of its stack and its variables.
#pragma once

#include <Python.h>

namespace tl::compiler {

// Whether this version of Python's frames can be read.
bool reads_frames();

// Each returns a new reference, or null with an exception. An empty place is `absent`.
// The n topmost values of the stack, the top last.
PyObject* stack_top(PyObject* frame, Py_ssize_t n, PyObject* absent);
// The variables: local ones, then cells and those of enclosing functions.
PyObject* variables_of(PyObject* frame, PyObject* absent);
// The function whose code runs.
PyObject* function_of(PyObject* frame);

}  // namespace tl::compiler

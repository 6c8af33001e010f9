// Tensors from Python data: nested sequences, numbers, arrays.
#pragma once

#include <Python.h>

#include <optional>

#include "tensor/tensor.h"

namespace tl::bind {

// A tensor comes back as it is; anything else is copied into a fresh one. Without `dtype` the data decide.
Tensor tensor_from_python(PyObject* data, std::optional<DType> dtype, Device device);

// A tensor that was just made of Python data, as the modes of the thread want it.
Tensor lifted(Tensor made);

// Whether a function runs under a transform: `grad`, `jvp`, `vmap` or `functionalize`.
bool in_transform();

// The tensor once more, outside of the graph: an alias, or in a transform or a handler's class a `detach`
// that they see.
Tensor detached_alias(const Tensor& t);

// A tensor that was just made, recording as the call's `requires_grad` says.
PyObject* recorded_from(PyObject* tensor, PyObject* requires_grad);

PyObject* py_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);  // tl.tensor(...)

}  // namespace tl::bind

// Python handlers of the layers `python` and `trace`: modes, and classes of tensors with
// `__torch_dispatch__`.
#pragma once

#include <Python.h>

#include "tensor/tensor.h"

namespace tl::bind {

// A class of tensors that brings a `__torch_dispatch__` of its own.
bool class_has_torch_dispatch(PyTypeObject* type);
// A tensor that becomes an object of the class takes part in the layer if the class has a handler.
void join_python_layer(TensorImpl& t, PyTypeObject* type);
void add_python_dispatch(PyObject* module);

}  // namespace tl::bind

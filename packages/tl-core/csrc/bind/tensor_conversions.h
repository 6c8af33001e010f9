// Conversions of tensors to Python's numbers and lists.
#pragma once

#include <Python.h>

#include <vector>

#include "tensor/tensor.h"

namespace tl::bind {

void add_conversion_slots(std::vector<PyType_Slot>& slots);  // bool, float, int, index
// Methods.
PyObject* tensor_item(PyObject* self, PyObject*);
PyObject* tensor_to_list(PyObject* self, PyObject*);
PyObject* tensor_to_complex(PyObject* self, PyObject*);
// Raises unless the elements lie in memory that can be read.
void check_has_memory(const Tensor& t);

}  // namespace tl::bind

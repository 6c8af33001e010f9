// Quantized tensors in Python: their parts, and the rules of operators that `tl_quantization` has.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_quantized(PyObject* module);
// A plain tensor of the numbers of a quantized one, by its method; other tensors are returned.
PyObject* numbers_object(PyObject* tensor);

}  // namespace tl::bind

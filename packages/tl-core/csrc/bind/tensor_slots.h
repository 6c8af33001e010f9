// What the tensor type has beside the operators' methods: operators of the language, properties, conversions.
#pragma once

#include <Python.h>

#include <vector>

namespace tl::bind {

void add_tensor_slots(std::vector<PyType_Slot>& slots);
void set_python_helper(const char* name, PyObject* function);  // "repr", "new", "reduce_ex": the Python half

}  // namespace tl::bind

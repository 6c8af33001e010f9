// The operators of the language on tensors: arithmetic, bits, comparison.
#pragma once

#include <Python.h>

#include <vector>

namespace tl::bind {

void add_number_slots(std::vector<PyType_Slot>& slots);
// `__rtruediv__` called by its name.
PyObject* reflected_quotient(PyObject* self, PyObject* other) noexcept;

}  // namespace tl::bind

// The slots of the tensor type beside the operators' methods.
#pragma once

#include <Python.h>

#include <vector>

namespace tl::bind {

void add_tensor_slots(std::vector<PyType_Slot>& slots);

}  // namespace tl::bind

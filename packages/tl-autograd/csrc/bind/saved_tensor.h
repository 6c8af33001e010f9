// What a node saved, as an object of Python: hooks can be put on it.
#pragma once

#include "bind/python.h"
#include "node.h"

namespace tl::autograd {

// A SavedTensor, or a tuple of them for a list. The slot lies in the node and is read until the node is
// released.
PyRef saved_tensor(Node& node, TlValue& slot);
void add_saved_tensor_type(PyObject* module);

}  // namespace tl::autograd

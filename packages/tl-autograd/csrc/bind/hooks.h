// Hooks: dicts of Python callables on nodes, and the handles that remove them.
#pragma once

#include "bind/python.h"
#include "node.h"

namespace tl::autograd {

enum class HookKind { Pre, Post, Accumulated };

void set_handle_factory(PyObject* factory);  // factory(dict, hook) -> handle
PyRef add_hook(Node& node, HookKind kind, PyObject* hook);
PyRef add_tensor_hook(Node& node, uint32_t output, PyObject* hook);

// What the collector may see of the Python objects that only this slot keeps alive.
int traverse_slot(void* slot, TlVisit visit, void* arg);
void clear_slot_objects(void* slot);

}  // namespace tl::autograd

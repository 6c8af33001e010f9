// Nodes as Python sees them: objects of a class named after the operator.
#pragma once

#include "bind/python.h"
#include "node.h"

namespace tl::autograd {

PyRef node_object(Node* node);    // the node's one object
Node* node_of(PyObject* object);  // borrowed; raises TypeError
bool is_node(PyObject* object);
PyRef next_functions(Node& node);
PyRef metadata(Node& node);
PyObject* set_sequence_number(Node& node, PyObject* number);  // a new reference to None
void add_node_type(PyObject* module);

}  // namespace tl::autograd

// Starting the engine from Python.
#pragma once

#include "bind/python.h"

namespace tl::autograd {

// run_backward(roots, grads, retain_graph, create_graph, inputs, allow_unused, accumulate): the gradients of
// the inputs, or None
PyObject* run_backward(PyObject* module, PyObject* const* args, Py_ssize_t n_args);
PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t n_args, PyObject* names);
PyObject* run_number(PyObject* module, PyObject*);    // of the backward this thread is in, or -1
PyObject* current_node(PyObject* module, PyObject*);  // that the backward runs, or None
PyObject* keeps_graph(PyObject* module, PyObject*);   // whether it may run again
PyObject* fills_leaves(PyObject*, PyObject*);
PyObject* queue_callback(PyObject* module, PyObject* callback);
PyObject* will_run(PyObject* module, PyObject* node);  // whether that backward reaches the node

// The gradient of an output of one element with respect to a tensor, freeing the graph; empty: there is none.
Tensor gradient_of(PyObject* output, TlTensor* input);

}  // namespace tl::autograd

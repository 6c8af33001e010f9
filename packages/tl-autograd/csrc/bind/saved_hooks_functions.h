// Hooks on saved tensors, as Python switches them.
#pragma once

#include <string>
#include <vector>

#include "bind/python.h"

namespace tl::autograd {

PyObject* push_saved_hooks(PyObject* module, PyObject* const* args, Py_ssize_t n_args);  // (pack, unpack)
PyObject* pop_saved_hooks(PyObject* module, PyObject*);
PyObject* has_saved_hooks(PyObject* module, PyObject*);  // whether this thread has any
// The form that a pack hook gives to a tensor; owned, freed by `forget`.
TlValue pack_with(PyObject* pack_hook, PyObject* unpack_hook, TlTensor* t);
// Refuses hooks on this thread with this message, or allows them with None; returns what was set before.
PyObject* disable_saved_hooks(PyObject* module, PyObject* message);

}  // namespace tl::autograd

// Functions that the Python half of tl_core lends to the tensor type.
#pragma once

#include <Python.h>

namespace tl::bind {

void set_python_helper(const char* name, PyObject* function);  // "repr", "new", "metadata"
PyObject* python_helper(const char* name);                     // borrowed; raises for a name that is not set

// Whether the class of a tensor has a handler that answers for its metadata.
bool asks_handler(PyObject* o);
// The handler's answer in place of the stored metadata; NULL without an exception if it has none.
PyObject* handler_metadata(const char* name, PyObject* o, PyObject* args, PyObject* kwargs);

}  // namespace tl::bind

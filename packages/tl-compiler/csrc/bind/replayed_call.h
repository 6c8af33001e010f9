// What a program calls in the place of a function whose calls are replayed.
#pragma once

#include <Python.h>

namespace tl::compiler {

// Adds the type ReplayedCall to the module. -1 with an exception.
int add_replayed_call(PyObject* module);

}  // namespace tl::compiler

// Levels of transforms, as Python begins and ends them.
#pragma once

#include <Python.h>

namespace tl::autograd {

void add_level_functions(PyObject* module);

}  // namespace tl::autograd

// The table of tl/autograd.h.
#pragma once

#include "bind/python.h"

namespace tl::autograd {

void add_table(PyObject* module);

}  // namespace tl::autograd

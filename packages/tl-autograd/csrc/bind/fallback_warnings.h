// The warnings of operators without a derivative, and the mode of `_set_autograd_fallback_mode`.
#pragma once

#include "bind/python.h"

namespace tl::autograd {

void add_fallback_warnings(PyObject* module);

}  // namespace tl::autograd

// The reducer of data-parallel training as Python sees it, and the hooks that parameters call without a
// Python frame.
#pragma once

#include "bind/python.h"

namespace tl::distributed {

void add_reducer_types(PyObject* module);

}  // namespace tl::distributed

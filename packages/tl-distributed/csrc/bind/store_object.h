// The server and the client of a store as Python sees them.
#pragma once

#include "bind/python.h"

namespace tl::distributed {

void add_store_types(PyObject* module);

}  // namespace tl::distributed

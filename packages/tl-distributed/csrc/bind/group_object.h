// Groups as Python sees them.
#pragma once

#include <memory>

#include "bind/python.h"
#include "group/group.h"

namespace tl::distributed {

void add_group_type(PyObject* module);
std::shared_ptr<Group> group_of(PyObject* o);  // raises

}  // namespace tl::distributed

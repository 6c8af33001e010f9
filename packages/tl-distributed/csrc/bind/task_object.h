// Operations as Python sees them.
#pragma once

#include <memory>

#include "bind/python.h"
#include "group/task.h"

namespace tl::distributed {

void add_task_type(PyObject* module);
PyRef task_object(std::shared_ptr<Task> task);
// The Python exception for a C++ one; needs the GIL.
PyRef exception_object(const std::exception_ptr& error);

}  // namespace tl::distributed

// The capsules that hand the C tables to other packages.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_python_api(PyObject* module);

}  // namespace tl::bind

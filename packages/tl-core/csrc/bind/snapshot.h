// What memory held at one moment, for Python.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_snapshots(PyObject* module);

}  // namespace tl::bind

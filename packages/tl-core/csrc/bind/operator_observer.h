// The layer that looks at what operators make: which makes a nan or an infinity first. It is installed at its
// first use.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_observer(PyObject* module);

}  // namespace tl::bind

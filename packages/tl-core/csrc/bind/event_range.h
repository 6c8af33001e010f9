// The context manager that makes a block of a Python program an event of a recording.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_event_range(PyObject* module);  // `_EventRange`

}  // namespace tl::bind

// `__torch_function__`: arguments and modes that take a call over.
#pragma once

#include <Python.h>

#include "bind/parse.h"

namespace tl::bind {

bool override_mode_active();           // a TorchFunctionMode is on this thread
bool overrides_disabled();             // by DisableTorchFunctionSubclass, on this thread
bool set_overrides_disabled(bool on);  // returns what was before
void set_override_handler(PyObject* handler);
void set_override_modes(int count);
// Hands the call to Python: handler(function, public arguments, keyword arguments). New reference, or NULL
// with an exception.
PyObject* call_override(PyObject* function, const PyArgs& in);

}  // namespace tl::bind

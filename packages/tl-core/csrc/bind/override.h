// `__torch_function__`: arguments and modes that take a call over.
#pragma once

#include <Python.h>

#include "bind/parse.h"

namespace tl::bind {

namespace detail {
// Read by every call: the quickest kind of thread storage.
extern constinit thread_local int t_override_modes __attribute__((tls_model("initial-exec")));
}  // namespace detail
// A TorchFunctionMode is on this thread.
inline bool override_mode_active() { return detail::t_override_modes > 0; }
bool overrides_disabled();             // by DisableTorchFunctionSubclass, on this thread
bool set_overrides_disabled(bool on);  // returns what was before
void set_override_handler(PyObject* handler);
void set_override_modes(int count);
// Hands the call to Python: handler(function, public arguments, keyword arguments). New reference, or NULL
// with an exception.
PyObject* call_override(PyObject* function, const PyArgs& in);
PyObject* call_override(PyObject* function, PyObject* args, PyObject* kwargs);  // kwargs may be NULL
// Whether a call on `self` goes to Python: a mode is on, or its class overrides.
inline bool wants_override(PyObject* self) { return override_mode_active() || has_torch_function(self); }
// A method of Tensor by name, asked of the overrides of `self`: a new reference, or NULL with an exception.
PyObject* override_method(const char* name, PyObject* self, PyObject* more_args = nullptr,
                          PyObject* kwargs = nullptr);
// The same for reading a property: the function is its descriptor's `__get__`.
PyObject* override_property(const char* name, PyObject* self);
// The same for setting it, by `__set__`, and deleting it (`value` is null), by `__delete__`.
int override_setter(const char* name, PyObject* self, PyObject* value);
// A property that asks the overrides first. It refers to the first one, which has to last.
PyGetSetDef asking(PyGetSetDef& property);

}  // namespace tl::bind

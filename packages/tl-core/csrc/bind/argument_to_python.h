// The arguments of a call as Python objects.
#pragma once

#include <Python.h>

#include "dispatch/operator.h"

namespace tl::bind {

// A new reference; lists become Python lists. Throws PythonError.
PyObject* argument_to_python(const TlValue& v);
// Whether a value is the default that the schema gives: such arguments are left out at the end of a call.
bool is_default(const Operator& op, int arg, const TlValue& v);

}  // namespace tl::bind

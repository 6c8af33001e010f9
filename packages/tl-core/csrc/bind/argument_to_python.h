// The arguments of a call as Python objects.
#pragma once

#include <Python.h>

#include "dispatch/operator.h"

namespace tl::bind {

// A new reference; lists become Python lists, and numbers the symbols that they stand for. Throws
// PythonError.
PyObject* argument_to_python(const TlArgInfo* arg, const TlValue& v);
// An argument of an operator; a number for a list of a stated length becomes as many, as callers of PyTorch's
// operators see it.
PyObject* argument_to_python(const Operator& op, int arg, const TlValue& v);
// Whether an argument is what it would be if it were left out.
bool is_default(const Operator& op, int arg, const TlValue& v);

}  // namespace tl::bind

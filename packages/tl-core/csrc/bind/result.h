// Values to Python objects.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "dispatch/operator.h"

namespace tl::bind {

PyObject* to_python(TlValue& v);  // takes over what the value holds; throws PythonError
// The result of a whole call: nothing, one object, a tuple, or a named tuple where the schema names the
// results.
PyObject* results_to_python(const Operator& op, const char* name, TlValue* rets, int n_rets);
std::vector<std::string> named_results();         // of which names there are named tuples
PyObject* named_result(const std::string& name);  // the class, or None
PyObject* scalar_to_python(const Scalar& s);

}  // namespace tl::bind

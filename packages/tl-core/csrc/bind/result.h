// Values to Python objects.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "bind/tensor_object.h"
#include "dispatch/operator.h"

namespace tl::bind {

namespace detail {
PyObject* other_to_python(TlValue& v);
PyObject* several_to_python(const Operator& op, const char* name, TlValue* rets, int n_rets);
}  // namespace detail

// Takes over what the value holds; throws PythonError.
inline PyObject* to_python(TlValue& v) {
  return v.tag == TL_TENSOR ? wrap(TakeResult<Tensor>::take(v)) : detail::other_to_python(v);
}
// The result of a whole call: nothing, one object, a tuple, or a named tuple where the schema names the
// results.
inline PyObject* results_to_python(const Operator& op, const char* name, TlValue* rets, int n_rets) {
  return n_rets == 1 ? to_python(rets[0]) : detail::several_to_python(op, name, rets, n_rets);
}
std::vector<std::string> named_results();         // of which names there are named tuples
PyObject* named_result(const std::string& name);  // the class, or None
PyObject* scalar_to_python(const Scalar& s);

}  // namespace tl::bind

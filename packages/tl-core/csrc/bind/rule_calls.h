// Rules of operators in Python: arguments become objects, the rule runs without modes, and results are
// checked.
#pragma once

#include <Python.h>

#include <vector>

#include "bind/error.h"
#include "dispatch/operator.h"

namespace tl::bind {

// The arguments of a call in order, as a tuple.
PyRef rule_arguments(const TlValue* args, int n_args);
// Those that a schema has by name only, as a dictionary.
PyRef rule_keywords(const Operator& op, const TlValue* args, int n_args);
int positional_count(const Operator& op, int n_args);

// handler(name, functional name, arguments), where neither classes nor modes take calls over. Keywords may be
// null: then the handler takes none.
PyRef call_rule(PyObject* handler, const Operator& op, PyObject* arguments, PyObject* keywords = nullptr);

// What a rule returned, as values of the schema's kinds.
TlValue rule_result(const Operator& op, PyObject* o, uint8_t kind);
// All results of a functional call, or the values for the written tensors of any other.
void rule_results(const Operator& op, PyObject* o, TlValue* results, int n);
inline constexpr int kMostRuleResults = 8;

}  // namespace tl::bind

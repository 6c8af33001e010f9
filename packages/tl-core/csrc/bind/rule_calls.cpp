// Rules in Python: conversions of arguments and results, and the call.
#include "bind/rule_calls.h"

#include <utility>

#include "bind/override.h"
#include "bind/result.h"
#include "bind/types.h"

namespace tl::bind {

namespace {
// Rules see plain tensors: neither classes nor modes take their calls over.
class PlainCalls {
 public:
  PlainCalls() : disabled_(set_overrides_disabled(true)), modes_(detail::t_override_modes) {
    set_override_modes(0);
  }
  ~PlainCalls() {
    set_override_modes(modes_);
    set_overrides_disabled(disabled_);
  }
  PlainCalls(const PlainCalls&) = delete;

 private:
  bool disabled_;
  int modes_;
};

PyObject* tensors_to_python(const TlValue& v) {
  const auto* items = static_cast<const Tensor*>(v.u.p);
  PyRef tuple = checked(PyTuple_New(v.len));
  for (uint32_t i = 0; i < v.len; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, items[i] ? wrap(items[i]) : Py_NewRef(Py_None));
  return tuple.release();
}

PyObject* argument_to_python(const TlValue& v) {
  if (v.tag == TL_TENSOR_LIST) return tensors_to_python(v);
  if (v.tag == TL_MEMORY_FORMAT) return Py_NewRef(memory_format_object(static_cast<MemoryFormat>(v.u.i)));
  if (v.tag == TL_GENERATOR) return Py_NewRef(Py_None);
  TlValue copy = owned_copy(v);
  return to_python(copy);
}

Tensor tensor_from(const Operator& op, PyObject* o) {
  TL_CHECK(is_tensor(o), Type, op.info.name, ": the rule returned ", Py_TYPE(o)->tp_name,
           " where a tensor is due");
  return tensor_of(o);
}

std::vector<Tensor> tensors_from(const Operator& op, PyObject* o) {
  PyRef items = checked(PySequence_Fast(o, "a rule returned no list of tensors"));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    tensors.push_back(tensor_from(op, PySequence_Fast_GET_ITEM(items.get(), i)));
  return tensors;
}
}  // namespace

PyRef rule_arguments(const TlValue* args, int n_args) {
  PyRef values = checked(PyTuple_New(n_args));
  for (int i = 0; i < n_args; ++i)
    PyTuple_SET_ITEM(values.get(), i, checked(argument_to_python(args[i])).release());
  return values;
}

int positional_count(const Operator& op, int n_args) {
  int n = 0;
  while (n < n_args && !op.info.args[n].keyword_only) ++n;
  return n;
}

PyRef rule_keywords(const Operator& op, const TlValue* args, int n_args) {
  PyRef keywords = checked(PyDict_New());
  for (int i = positional_count(op, n_args); i < n_args; ++i) {
    const PyRef value = checked(argument_to_python(args[i]));
    if (PyDict_SetItemString(keywords.get(), op.info.args[i].name, value.get()) != 0) throw PythonError();
  }
  return keywords;
}

PyRef call_rule(PyObject* handler, const Operator& op, PyObject* arguments, PyObject* keywords) {
  const PlainCalls plain;
  return checked(run_python(PyObject_CallFunction, handler, keywords ? "ssOO" : "ssO", op.info.name,
                            op.info.functional->info.name, arguments, keywords));
}

TlValue rule_result(const Operator& op, PyObject* o, uint8_t kind) {
  if (is_tensor(o)) return owned(tensor_of(o));
  if (kind == TL_ARG_TENSOR_LIST) return owned(tensors_from(op, o));
  if (PyBool_Check(o)) return owned(o == Py_True);
  if (PyLong_Check(o)) return owned(static_cast<int64_t>(PyLong_AsLongLong(o)));
  if (PyFloat_Check(o)) return owned(PyFloat_AsDouble(o));
  if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    return owned(Scalar(Complex128{c.real, c.imag}));
  }
  return owned(tensor_from(op, o));
}

void rule_results(const Operator& op, PyObject* o, TlValue* results, int n) {
  TL_CHECK(n <= kMostRuleResults, NotImplemented, op.info.name, " has too many results for a rule");
  if (n == 1) {
    results[0] = rule_result(op, o, op.info.rets[0].kind);
  } else if (n > 1) {
    std::vector<Tensor> tensors = tensors_from(op, o);
    TL_CHECK(tensors.size() == static_cast<size_t>(n), Type, op.info.name, " has ", n,
             " results, the rule returned ", tensors.size());
    for (int i = 0; i < n; ++i) results[i] = owned(std::move(tensors[static_cast<size_t>(i)]));
  }
}

}  // namespace tl::bind

// One Python name: its overloads, and the C entry points of the function and the method.
#pragma once

#include <Python.h>

#include <span>
#include <utility>

#include "bind/parse.h"
#include "tl/python_calls.hpp"

namespace tl::bind {

// How Python calls what takes positional and keyword arguments without a tuple.
using FastEntry = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

struct FunctionDef {
  const char* name;
  const char* space;          // "" is the flat namespace
  const uint16_t* overloads;  // indices into g_operators, in the order in which they are tried
  int n_overloads;
  bool function, method;
  const Spelling *function_spellings, *method_spellings;
  bool by_position;
  const char* function_doc;
  const char* method_doc;
  FastEntry as_function, as_method;

  Callee callee(bool method) const {
    return {name, method ? method_spellings : function_spellings, by_position};
  }
};

extern const FunctionDef kFunctions[];  // generated
extern const int kNumFunctions;
extern PyObject*
    g_function_objects[][2];  // the function, the method descriptor; what __torch_function__ is given

// Parses, calls, wraps. `self` is the method's tensor or NULL.
PyObject* call_function(const FunctionDef& f, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) noexcept;

template <int I>
PyObject* entry_function(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return call_function(kFunctions[I], nullptr, args, nargs, kwnames);
}
template <int I>
PyObject* entry_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return call_function(kFunctions[I], self, args, nargs, kwnames);
}

// Calls an operator with all its arguments; large work runs without the GIL. Non-zero: an error is pending.
int call_from_python(const Operator& op, const TlValue* values, TlValue* rets);

// Who sees the calls of the thread whose results a function of Python returns as they are.
struct PythonCallWatcher {
  TlPythonCallWatcher see = nullptr;
  void* user = nullptr;
};
extern thread_local constinit PythonCallWatcher t_watcher;

inline void note_python_call(const Operator& op, const TlValue* values, const TlValue* rets) {
  if (t_watcher.see) [[unlikely]]
    t_watcher.see(t_watcher.user, &op, values, rets);
}

class PythonCallPause {
 public:
  PythonCallPause() : before_(std::exchange(t_watcher, {})) {}
  ~PythonCallPause() { t_watcher = before_; }
  PythonCallPause(const PythonCallPause&) = delete;

 private:
  PythonCallWatcher before_;
};

// `_call_operator(names, *args, **kwargs)`: calls the first of the named operators that takes the arguments.
PyObject* call_operator(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) noexcept;

// Calls the first of the operators that takes the arguments; overrides are told of `object`, unless it is
// NULL.
PyObject* call_first(std::span<const Operator* const> operators, PyObject* object, const PyArgs& in);

// `_why_not(name, *args, **kwargs)`: why the operator takes no such arguments; None if it does.
PyObject* why_not(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) noexcept;

const FunctionDef* find_function(const char* name);
// Python's function that gets the arguments of a call that no overload takes.
void set_fallback(const char* name, PyObject* function);
void add_functions(PyObject* module);      // the flat namespace, and others such as `_nn` as attributes
std::vector<PyMethodDef>& method_table();  // for the tensor type

}  // namespace tl::bind

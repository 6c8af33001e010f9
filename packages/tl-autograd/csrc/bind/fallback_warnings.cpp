// The warnings of operators without a derivative: from their nodes, and from hooks on what they return.
#include "bind/fallback_warnings.h"

#include <string>

#include "bind/hooks.h"
#include "fallback.h"
#include "view.h"

namespace tl::autograd {

namespace {
void warn_in_python(const char* op) {
  const std::string text = std::string(op) +
                           ": an autograd kernel was not registered to the Autograd key(s) but we are trying "
                           "to backprop through it. "
                           "Gradients may be wrong or missing without an error: register a derivative with "
                           "library.register_autograd, "
                           "or CompositeImplicitAutograd for a function of differentiable operators.";
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw PythonError();
}

void warn_from_node(const char* op) {
  const WithGil lock;
  try {
    warn_in_python(op);
  } catch (const PythonError&) {
    bridge->pending_from_python();
    throw Pending();
  }
}

PyObject* warn_from_hook(PyObject* op, PyObject*) {
  return guarded([&] {
    warn_in_python(PyUnicode_AsUTF8(op));
    return Py_NewRef(Py_None);
  });
}
PyMethodDef g_hook = {"warn_of_fallback", warn_from_hook, METH_O, nullptr};

void hook_in_python(TlTensor* t, const char* op) {
  const WithGil lock;
  const PyRef name = checked(PyUnicode_FromString(op));
  const PyRef hook = checked(PyCFunction_New(&g_hook, name.get()));
  const Edge e = gradient_edge(t);
  add_tensor_hook(*e.node, e.output, hook.get());
  track(t);
}

// set_fallback(mode) -> the mode before: 0 for nothing, 1 for a warning, 2 for an error; None only asks
PyObject* set_fallback(PyObject*, PyObject* mode) {
  return guarded([&] {
    if (mode == Py_None) return PyLong_FromLong(static_cast<long>(fallback.load()));
    const long wanted = PyLong_AsLong(mode);
    if (wanted < 0 || wanted > 2) raise(PyExc_ValueError, "set_fallback(): mode must be 0, 1 or 2");
    return PyLong_FromLong(static_cast<long>(fallback.exchange(static_cast<Fallback>(wanted))));
  });
}

PyMethodDef kFunctions[] = {
    {"set_fallback", set_fallback, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_fallback_warnings(PyObject* module) {
  warn_of_fallback = warn_from_node;
  hook_fallback = hook_in_python;
  checked(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace tl::autograd

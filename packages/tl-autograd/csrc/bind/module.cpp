// The extension module tl_autograd._C.
#include <memory>

#include "bind/function_node.h"
#include "bind/hooks.h"
#include "bind/node_object.h"
#include "bind/python.h"
#include "bind/tensor_methods.h"
#include "engine.h"
#include "leaf.h"
#include "ops.h"
#include "recorder.h"
#include "view.h"

namespace tl::autograd {

namespace {
// ---- backward ------------------------------------------------------------------------------------------------------

// A tensor, or a pair (node, output number).
Edge edge_from(PyObject* o) {
  if (TlTensor* t = bridge->unwrap(o)) return gradient_edge(t);
  Ref node = checked(PyObject_GetAttrString(o, "node")), output = checked(PyObject_GetAttrString(o, "output_nr"));
  const long nr = PyLong_AsLong(output.get());
  if (nr == -1 && PyErr_Occurred()) throw PythonError();
  return {node_of(node.get()), static_cast<uint32_t>(nr)};
}

Tensor implied_gradient(PyObject* root) {
  TlTensor* t = bridge->unwrap(root);
  if (!t) raise(PyExc_RuntimeError, "gradients of edges must be given");
  if (api->tensor_numel(t) != 1) raise(PyExc_RuntimeError, "grad can be implicitly created only for scalar outputs");
  if (is_complex(api->tensor_dtype(t)))
    raise(PyExc_RuntimeError, "grad can be implicitly created only for real scalar outputs but got " + std::string(PyUnicode_AsUTF8(checked(PyObject_Str(bridge->dtype_object(api->tensor_dtype(t)))).get())));
  GradMode off(false);
  return ones_like(t);
}

void add_roots(Run& run, PyObject* roots, PyObject* grads) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(roots); ++i) {
    PyObject *root = PyTuple_GET_ITEM(roots, i), *grad = PyTuple_GET_ITEM(grads, i);
    const Edge e = edge_from(root);
    if (!e.node)
      raise(PyExc_RuntimeError, "element " + std::to_string(i) + " of tensors does not require grad and does not have a grad_fn");
    run.add_root(e, grad == Py_None ? implied_gradient(root) : Tensor::share(tensor_of(grad)));
  }
}

void add_inputs(Run& run, PyObject* inputs, bool accumulate) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
    PyObject* input = PyTuple_GET_ITEM(inputs, i);
    const Edge e = edge_from(input);
    if (!e.node) raise(PyExc_RuntimeError, "One of the differentiated Tensors does not require grad");
    TlTensor* t = bridge->unwrap(input);
    if (accumulate && t && !as_leaf(e.node)) retain_grad(t);
    run.add_input(e);
  }
}

struct WithoutGil {
  PyThreadState* state = PyEval_SaveThread();
  ~WithoutGil() { PyEval_RestoreThread(state); }
};

PyObject* captured(const Run& run, bool allow_unused) {
  const auto& grads = run.captured();
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(grads.size())));
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i] && !allow_unused)
      raise(PyExc_RuntimeError, "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
                                "this is the desired behavior.");
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrapped(grads[i]).take());
  }
  return tuple.take();
}

// run_backward(roots, grads, retain_graph, create_graph, inputs, allow_unused, accumulate)
PyObject* run_backward(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&]() -> PyObject* {
    if (n_args != 7 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]) || !PyTuple_Check(args[4]) ||
        PyTuple_GET_SIZE(args[0]) != PyTuple_GET_SIZE(args[1]))
      raise(PyExc_TypeError, "run_backward(roots, grads, retain_graph, create_graph, inputs, allow_unused, accumulate)");
    const bool accumulate = args[6] == Py_True;
    Run run({args[2] == Py_True, args[3] == Py_True, accumulate});
    add_roots(run, args[0], args[1]);
    add_inputs(run, args[4], accumulate);
    {
      WithoutGil released;
      run.execute();
    }
    if (accumulate) return Py_NewRef(Py_None);
    return captured(run, args[5] == Py_True);
  });
}

// ---- small things --------------------------------------------------------------------------------------------------

PyObject* needs_input_grad(PyObject*, PyObject* inputs) {
  return guarded([&] {
    Ref tuple = checked(PyTuple_New(PyTuple_GET_SIZE(inputs)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
      TlTensor* t = bridge->unwrap(PyTuple_GET_ITEM(inputs, i));
      PyTuple_SET_ITEM(tuple.get(), i, PyBool_FromLong(t && gradient_edge(t).node));
    }
    return tuple.take();
  });
}

PyObject* gradient_edge_of(PyObject*, PyObject* tensor) {
  return guarded([&] {
    const Edge e = gradient_edge(tensor_of(tensor));
    if (!e.node) raise(PyExc_RuntimeError, "It is not possible to get the gradient edge for a Tensor that does not require gradients");
    return checked(Py_BuildValue("(Ni)", node_object(e.node).take(), static_cast<int>(e.output))).take();
  });
}

PyObject* bump_version(PyObject*, PyObject* tensor) {
  return guarded([&] {
    api->tensor_bump_version(tensor_of(tensor));
    return Py_NewRef(Py_None);
  });
}

PyObject* set_handle_factory_function(PyObject*, PyObject* factory) {
  set_handle_factory(factory);
  return Py_NewRef(Py_None);
}

template <class F>
PyCFunction fast(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef kFunctions[] = {
    {"run_backward", fast(run_backward), METH_FASTCALL, nullptr},
    {"finish_function", fast(finish_function), METH_FASTCALL, nullptr},
    {"delayed_error", fast(delayed_error), METH_FASTCALL, nullptr},
    {"needs_input_grad", needs_input_grad, METH_O, nullptr},
    {"gradient_edge", gradient_edge_of, METH_O, nullptr},
    {"bump_version", bump_version, METH_O, nullptr},
    {"set_handle_factory", set_handle_factory_function, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "tl_autograd._C", nullptr, -1, kFunctions, nullptr, nullptr, nullptr, nullptr};

void connect() {
  auto get_api = reinterpret_cast<TlGetApi>(PyCapsule_Import(TL_API_CAPSULE, 0));
  if (!get_api) throw PythonError();
  bridge = static_cast<const TlPython*>(PyCapsule_Import(TL_PYTHON_CAPSULE, 0));
  if (!bridge) throw PythonError();
  api = get_api(TL_API_MAJOR, TL_API_MINOR);
  if (!api) {
    bridge->raise_pending();
    throw PythonError();
  }
}
}  // namespace

PyObject* make_module() {
  return guarded([] {
    connect();
    Ref module = checked(PyModule_Create(&kModule));
    add_node_type(module.get());
    add_function_type(module.get());
    set_slot_traversal(traverse_slot, clear_slot_objects);
    check(install_layer());
    extend_tensor_type();
    return module.take();
  });
}

}  // namespace tl::autograd

PyMODINIT_FUNC PyInit__C() { return tl::autograd::make_module(); }

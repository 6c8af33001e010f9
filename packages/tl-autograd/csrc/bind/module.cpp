// The extension module tl_autograd._C.
#include "bind/backward.h"
#include "bind/function_node.h"
#include "bind/hooks.h"
#include "bind/node_object.h"
#include "bind/python.h"
#include "bind/tensor_methods.h"
#include "recorder.h"
#include "view.h"

namespace tl::autograd {

namespace {
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
    {"run_number", run_number, METH_NOARGS, nullptr},
    {"will_run", will_run, METH_O, nullptr},
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

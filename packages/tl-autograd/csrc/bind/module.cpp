// The extension module tl_autograd._C.
#include "anomaly.h"
#include "bind/backward.h"
#include "bind/fallback_warnings.h"
#include "bind/function_node.h"
#include "bind/hooks.h"
#include "bind/levels.h"
#include "bind/node_object.h"
#include "bind/plain_calls.h"
#include "bind/python.h"
#include "bind/saved_hooks_functions.h"
#include "bind/saved_tensor.h"
#include "bind/table.h"
#include "bind/tensor_methods.h"
#include "levels/rule.h"
#include "levels/unwrap.h"
#include "node_event.h"
#include "origin.h"
#include "recorder.h"
#include "regions.h"
#include "view.h"

namespace tl::autograd {

namespace {
// ---- small things -----------------------------------------------------------------------------------------

PyObject* needs_input_grad(PyObject*, PyObject* inputs) {
  return guarded([&] {
    PyRef tuple = checked(PyTuple_New(PyTuple_GET_SIZE(inputs)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
      TlTensor* t = bridge->unwrap(PyTuple_GET_ITEM(inputs, i));
      PyTuple_SET_ITEM(tuple.get(), i, PyBool_FromLong(t && gradient_edge(t).node));
    }
    return tuple.release();
  });
}

PyObject* gradient_edge_of(PyObject*, PyObject* tensor) {
  return guarded([&] {
    const Edge e = gradient_edge(tensor_of(tensor));
    if (!e.node)
      raise(PyExc_RuntimeError,
            "It is not possible to get the gradient edge for a Tensor that does not require gradients");
    return checked(Py_BuildValue("(Ni)", node_object(e.node).release(), static_cast<int>(e.output)))
        .release();
  });
}

PyObject* bump_version(PyObject*, PyObject* tensor) {
  return guarded([&] {
    api->tensor_bump_version(tensor_of(tensor));
    return Py_NewRef(Py_None);
  });
}

// set_anomaly(mode, check_nan) -> the previous pair
PyObject* set_anomaly(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2) raise(PyExc_TypeError, "set_anomaly(mode, check_nan)");
    const int mode = PyObject_IsTrue(args[0]), nan = PyObject_IsTrue(args[1]);
    if (mode < 0 || nan < 0) throw PythonError();
    const bool old_mode = g_anomaly.exchange(mode), old_nan = g_anomaly_nan.exchange(nan);
    return checked(Py_BuildValue("(NN)", PyBool_FromLong(old_mode), PyBool_FromLong(old_nan))).release();
  });
}

PyObject* set_handle_factory_function(PyObject*, PyObject* factory) {
  set_handle_factory(factory);
  return Py_NewRef(Py_None);
}

PyMethodDef kFunctions[] = {
    {"run_backward", method(run_backward), METH_FASTCALL,
     "Runs the backward pass from roots, and returns the gradients of inputs."},
    {"finish_function", method(finish_function), METH_FASTCALL, nullptr},
    {"delayed_error", method(delayed_error), METH_FASTCALL, nullptr},
    {"run_number", run_number, METH_NOARGS, nullptr},
    {"fills_leaves", fills_leaves, METH_NOARGS, nullptr},
    {"current_node", current_node, METH_NOARGS, nullptr},
    {"keeps_graph", keeps_graph, METH_NOARGS, nullptr},
    {"will_run", will_run, METH_O, nullptr},
    {"queue_callback", queue_callback, METH_O, nullptr},
    {"needs_input_grad", needs_input_grad, METH_O, nullptr},
    {"gradient_edge", gradient_edge_of, METH_O, nullptr},
    {"bump_version", bump_version, METH_O, nullptr},
    {"set_anomaly", method(set_anomaly), METH_FASTCALL, nullptr},
    {"push_saved_hooks", method(push_saved_hooks), METH_FASTCALL, nullptr},
    {"pop_saved_hooks", pop_saved_hooks, METH_NOARGS, nullptr},
    {"has_saved_hooks", has_saved_hooks, METH_NOARGS,
     "Returns whether hooks for saved tensors are active in this thread."},
    {"disable_saved_hooks", disable_saved_hooks, METH_O, nullptr},
    {"set_handle_factory", set_handle_factory_function, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "tl_autograd._C", nullptr, -1, kFunctions, nullptr, nullptr, nullptr, nullptr};

void connect() {
  bridge = tl_import_python();
  api = bridge ? tl_import_api(TL_API_TARGET) : nullptr;
  handles::extension = api ? tl_import_extension() : nullptr;
  if (!handles::extension) throw PythonError();
  g_frames = bridge->frames;
  const auto* rules = static_cast<const TlRules*>(tl_import_table(TL_RULES_CAPSULE, sizeof(TlRules)));
  if (!rules) throw PythonError();
  set_transform_rules(rules);
  const auto* recording =
      static_cast<const TlRecording*>(tl_import_table(TL_RECORDING_CAPSULE, sizeof(TlRecording)));
  if (!recording) throw PythonError();
  set_recording_table(recording);
}

void add_regions(PyObject* module) {
  const PyRef table =
      checked(PyCapsule_New(const_cast<TlRegions*>(regions_table()), TL_REGIONS_CAPSULE, nullptr));
  if (PyModule_AddObjectRef(module, "regions_v1", table.get()) != 0) throw PythonError();
}
}  // namespace

PyObject* make_module() {
  return guarded([] {
    connect();
    PyRef module = checked(PyModule_Create(&kModule));
    add_node_type(module.get());
    add_function_type(module.get());
    add_saved_tensor_type(module.get());
    set_slot_traversal(traverse_slot, clear_slot_objects);
    check(install_layer());
    check(install_transforms());
    check(install_unwrap());
    add_level_functions(module.get());
    add_plain_calls(module.get());
    add_regions(module.get());
    add_fallback_warnings(module.get());
    add_table(module.get());
    extend_tensor_type();
    return module.release();
  });
}

}  // namespace tl::autograd

PyMODINIT_FUNC PyInit__C() { return tl::autograd::make_module(); }

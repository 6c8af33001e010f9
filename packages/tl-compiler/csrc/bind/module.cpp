// The extension module tl_compiler._C.
#include <Python.h>

#include "bind/region_call.h"
#include "bind/replayed_call.h"
#include "bind/tape_type.h"
#include "counters.h"
#include "emit/fragment.h"
#include "region.h"
#include "replay/bridge.h"
#include "replay/native_call.h"
#include "tl/python.h"
#include "tl/python.hpp"

namespace tl::compiler {

namespace {
const TlPython* bridge = nullptr;

// Ctrl-C, or what a signal handler raised: it would not be raised again.
bool is_from_handler() {
  return api->error_kind() == TL_ERROR_INTERRUPT || api->error_kind() == TL_ERROR_PYTHON;
}

// A call has failed whose results somebody holds: they get their memory, and its error goes on. Where memory
// is missing, who asks for these results gets that error.
void settle_after_error(Region& region) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  try {
    region.settle();
  } catch (const Pending&) {
    if (is_from_handler()) {
      bridge->raise_pending();
      PyObject *raised_type, *raised, *raised_trace;
      PyErr_Fetch(&raised_type, &raised, &raised_trace);
      PyErr_NormalizeException(&raised_type, &raised, &raised_trace);
      if (value) PyException_SetContext(raised, Py_NewRef(value));
      Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
      PyErr_Restore(raised_type, raised, raised_trace);
      return;
    }
    api->error_clear();
  }
  PyErr_Restore(type, value, trace);
}

// run(function, args, kwargs): calls the function in a compiled region.
PyObject* run(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  if (n_args != 3 || !PyTuple_Check(args[1]) || !PyDict_Check(args[2])) {
    PyErr_SetString(PyExc_TypeError, "run(function, args, kwargs) expects a tuple and a dictionary");
    return nullptr;
  }
  return call_in_region(args[0], args[1], args[2]);
}

// counters() -> what compiled regions have done in this process, by name
PyObject* read_counters(PyObject*, PyObject*) {
  return Py_BuildValue("{sLsLsLsLsLsLsL}", "operators", counters.operators.load(), "batches",
                       counters.batches.load(), "groups", counters.groups.load(), "loops",
                       counters.loops.load(), "emitted", counters.emitted.load(), "left",
                       counters.left.load(), "absorbed", counters.absorbed.load());
}

// limit_emission(level): 0 no emitted code, 1 AVX2, 2 AVX-512 where the processor has it
PyObject* limit_emission_to(PyObject*, PyObject* level) {
  const long n = PyLong_AsLong(level);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  if (n < 0 || n > 2) {
    PyErr_Format(PyExc_ValueError, "limit_emission(level): expected 0, 1 or 2, got %ld", n);
    return nullptr;
  }
  limit_emission(static_cast<Level>(n));
  return Py_NewRef(Py_None);
}

// emission_level() -> the level that is used
PyObject* read_emission_level(PyObject*, PyObject*) {
  return PyLong_FromLong(static_cast<long>(emission_level()));
}

// in_region() -> whether the code of this thread runs in a compiled region
PyObject* read_in_region(PyObject*, PyObject*) { return PyBool_FromLong(in_region()); }

PyMethodDef kFunctions[] = {
    {"run", method(run), METH_FASTCALL, nullptr},
    {"limit_emission", limit_emission_to, METH_O, nullptr},
    {"emission_level", read_emission_level, METH_NOARGS, nullptr},
    {"in_region", read_in_region, METH_NOARGS, nullptr},
    {"counters", read_counters, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "tl_compiler._C", nullptr, -1, kFunctions, nullptr, nullptr, nullptr, nullptr};
}  // namespace

PyObject* call_in_region(PyObject* function, PyObject* args, PyObject* kwargs, bool defers) {
  Region region(defers);
  PyRef result(run_python(PyObject_Call, function, args, kwargs));
  if (!result) {
    settle_after_error(region);
    return nullptr;
  }
  try {
    region.settle();
  } catch (...) {
    pending_from_exception();
    bridge->raise_pending();
    return nullptr;
  }
  return result.release();
}

PyObject* make_module() {
  bridge = python = tl_import_python();
  if (!bridge) return nullptr;
  api = tl_import_api(TL_API_TARGET);
  handles::extension = api ? tl_import_extension() : nullptr;
  if (!handles::extension) return nullptr;
  python_calls =
      static_cast<const TlPythonCalls*>(tl_import_table(TL_PYTHON_CALLS_CAPSULE, sizeof(TlPythonCalls)));
  if (!python_calls) return nullptr;
  const auto* regions = static_cast<const TlRegions*>(tl_import_table(TL_REGIONS_CAPSULE, sizeof(TlRegions)));
  if (!regions) return nullptr;
  try {
    install(*regions);
  } catch (...) {
    pending_from_exception();
    bridge->raise_pending();
    return nullptr;
  }
  PyRef module(PyModule_Create(&kModule));
  const bool whole = module && add_replay(module.get()) == 0 && add_replayed_call(module.get()) == 0;
  return whole ? module.release() : nullptr;
}

}  // namespace tl::compiler

PyMODINIT_FUNC PyInit__C() { return tl::compiler::make_module(); }

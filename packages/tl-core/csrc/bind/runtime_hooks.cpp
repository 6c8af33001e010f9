// Hooks into CPython: signals are polled, the GIL is let go around waits, LAPACK's library is located,
// and AssertionError is raised for a missing CUDA.
#include "bind/runtime_hooks.h"

#include "base/interrupt.h"
#include "base/lapack.h"
#include "bind/error.h"
#include "tensor/device_registry.h"

namespace tl::bind {

namespace {
// Helper threads are unknown to Python and need not ask: handlers run on the main thread only.
bool known_to_python() { return Py_IsInitialized() && PyGILState_GetThisThreadState(); }

void poll() {
  if (!known_to_python()) return;
  const WithGil lock;
  if (PyErr_CheckSignals() == 0) return;
  pending_from_python();
  throw_pending();
}

void* leave() { return known_to_python() && PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void enter(void* left) {
  park_at_exit([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(left)); });
}

// Which file holds LAPACK is Python's to say. No lock of ours is held meanwhile.
void find_lapack() {
  if (!Py_IsInitialized()) return;
  const WithGil lock;
  const PyRef module(park_at_exit([] { return import_module("tl_core.functions.lapack"); }));
  const PyRef result(module ? run_python(PyObject_CallMethod, module.get(), "find", nullptr) : nullptr);
  if (result) return;
  pending_from_python();
  throw_pending();
}

void refuse_cuda(const char* message) {
  if (!Py_IsInitialized()) return;
  const WithGil lock;
  PyErr_SetString(PyExc_AssertionError, message);
  pending_from_python();
  throw_pending();
}

constexpr RuntimeHooks kHooks = {poll, leave, enter};
}  // namespace

void install_runtime_hooks() {
  set_runtime_hooks(&kHooks);
  lapack::set_finder(find_lapack);
  set_cuda_refusal(refuse_cuda);
}

}  // namespace tl::bind

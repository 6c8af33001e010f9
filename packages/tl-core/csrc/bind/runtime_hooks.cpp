#include "bind/runtime_hooks.h"

#include "base/interrupt.h"
#include "bind/error.h"

namespace tl::bind {

namespace {
// Helper threads are unknown to Python and need not ask: handlers run on the main thread only.
bool known_to_python() { return Py_IsInitialized() && PyGILState_GetThisThreadState(); }

void poll() {
  if (!known_to_python()) return;
  const PyGILState_STATE gil = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() != 0;
  if (raised) pending_from_python();
  PyGILState_Release(gil);
  if (raised) throw_pending();
}

void* leave() { return known_to_python() && PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void enter(void* left) { PyEval_RestoreThread(static_cast<PyThreadState*>(left)); }

constexpr RuntimeHooks kHooks = {poll, leave, enter};
}  // namespace

void install_runtime_hooks() { set_runtime_hooks(&kHooks); }

}  // namespace tl::bind

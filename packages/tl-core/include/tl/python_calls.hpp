// The calls of operators by Python's functions, for the package that repeats such calls: a table in the
// capsule `tl_core._C.python_calls_v1`. It connects packages of one version, and is no part of the recorded
// interface.
#ifndef TL_PYTHON_CALLS_HPP
#define TL_PYTHON_CALLS_HPP

#include "tl/c_api.h"

#define TL_PYTHON_CALLS_CAPSULE "tl_core._C.python_calls_v1"

// A call has happened. Arguments and results are borrowed.
using TlPythonCallWatcher = void (*)(void* user, const TlOperator* op, const TlValue* args,
                                     const TlValue* rets);

struct TlPythonCalls {
  size_t struct_size;
  uint32_t major, minor;

  // Calls an operator as a function of Python does: large work without the GIL, and writes are noted.
  // Non-zero: an error is pending.
  int (*call)(const TlOperator* op, const TlValue* args, TlValue* rets);
  // From then on `watcher` sees each call of this thread whose results a function of Python returns as they
  // are. NULL: nobody does.
  void (*watch)(TlPythonCallWatcher watcher, void* user);
};

#endif  // TL_PYTHON_CALLS_HPP

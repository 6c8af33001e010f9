// Frames of CPython 3.11. Other versions lay out frames in other ways, and a program is not replayed there.
#include "replay/frame.h"

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
#define Py_BUILD_CORE
extern "C" {
#include <internal/pycore_frame.h>
}
#undef Py_BUILD_CORE
#define TL_READS_FRAMES 1
#else
#define TL_READS_FRAMES 0
#endif

#include <algorithm>

namespace tl::compiler {

bool reads_frames() { return TL_READS_FRAMES; }

namespace {
#if TL_READS_FRAMES
// Of a frame that runs no instruction now; -1: it runs one.
_PyInterpreterFrame* suspended(PyObject* frame) {
  if (!PyFrame_Check(frame)) {
    PyErr_SetString(PyExc_TypeError, "expected a frame");
    return nullptr;
  }
  auto* const inner = reinterpret_cast<PyFrameObject*>(frame)->f_frame;
  if (inner && inner->stacktop >= 0) return inner;
  PyErr_SetString(PyExc_RuntimeError,
                  "the frame has no readable stack: only a trace function may look at it");
  return nullptr;
}

PyObject* copy(PyObject* const* values, Py_ssize_t n, PyObject* absent) {
  PyObject* const result = PyTuple_New(n);
  for (Py_ssize_t i = 0; result && i < n; ++i)
    PyTuple_SET_ITEM(result, i, Py_NewRef(values[i] ? values[i] : absent));
  return result;
}
#endif
}  // namespace

PyObject* stack_top([[maybe_unused]] PyObject* frame, [[maybe_unused]] Py_ssize_t n,
                    [[maybe_unused]] PyObject* absent) {
#if TL_READS_FRAMES
  const _PyInterpreterFrame* const inner = suspended(frame);
  if (!inner) return nullptr;
  const Py_ssize_t depth = inner->stacktop - inner->f_code->co_nlocalsplus;
  const Py_ssize_t taken = std::clamp<Py_ssize_t>(n, 0, depth);
  return copy(inner->localsplus + inner->stacktop - taken, taken, absent);
#else
  PyErr_SetString(PyExc_NotImplementedError, "frames of this version of Python are not read");
  return nullptr;
#endif
}

PyObject* variables_of([[maybe_unused]] PyObject* frame, [[maybe_unused]] PyObject* absent) {
#if TL_READS_FRAMES
  const _PyInterpreterFrame* const inner = suspended(frame);
  return inner ? copy(inner->localsplus, inner->f_code->co_nlocalsplus, absent) : nullptr;
#else
  PyErr_SetString(PyExc_NotImplementedError, "frames of this version of Python are not read");
  return nullptr;
#endif
}

PyObject* function_of([[maybe_unused]] PyObject* frame) {
#if TL_READS_FRAMES
  const _PyInterpreterFrame* const inner = suspended(frame);
  return inner ? Py_NewRef(reinterpret_cast<PyObject*>(inner->f_func)) : nullptr;
#else
  PyErr_SetString(PyExc_NotImplementedError, "frames of this version of Python are not read");
  return nullptr;
#endif
}

}  // namespace tl::compiler

/* The instructions that this thread's Python frames have reached. In C, and alone: it reads the interpreter's
 * own frames, because a frame object costs more than a small operator. */
#define Py_BUILD_CORE 1
#include "bind/python_frames.h"

#include <Python.h>
#include <pthread.h>

#if PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED) && __has_include(<internal/pycore_frame.h>)
#include <internal/pycore_frame.h>

__thread int tl_without_gil = 0;

/* The interpreter's current thread is this one while this one holds the GIL; then nothing has to be looked
 * up. */
static PyThreadState* this_thread(void) {
#if PY_VERSION_HEX < 0x030C0000
  PyThreadState* state = tl_without_gil ? NULL : _PyThreadState_UncheckedGet();
  if (state && state->thread_id == (unsigned long)pthread_self()) return state;
#endif
  return PyGILState_GetThisThreadState();
}

int tl_python_frames(const void** out, int n) {
  PyThreadState* state = this_thread();
  int count = 0;
  if (!state) return 0;
#if PY_VERSION_HEX >= 0x030D0000
  for (struct _PyInterpreterFrame* f = state->current_frame; f && count < n; f = f->previous)
    out[count++] = f->instr_ptr;
#else
  for (struct _PyInterpreterFrame* f = state->cframe->current_frame; f && count < n; f = f->previous)
    out[count++] = f->prev_instr;
#endif
  return count;
}

int tl_python_stack(TlFrame* out, int n) {
  PyThreadState* state = this_thread();
  int count = 0;
  if (!state) return 0;
#if PY_VERSION_HEX >= 0x030D0000
  for (struct _PyInterpreterFrame* f = state->current_frame; f && count < n; f = f->previous) {
    if (f->owner == FRAME_OWNED_BY_CSTACK) continue;
    out[count++] = (TlFrame){f->f_executable, f->instr_ptr};
  }
#elif PY_VERSION_HEX >= 0x030C0000
  for (struct _PyInterpreterFrame* f = state->cframe->current_frame; f && count < n; f = f->previous) {
    if (f->owner == FRAME_OWNED_BY_CSTACK) continue;
    out[count++] = (TlFrame){f->f_code, f->prev_instr};
  }
#else
  for (struct _PyInterpreterFrame* f = state->cframe->current_frame; f && count < n; f = f->previous)
    out[count++] = (TlFrame){f->f_code, f->prev_instr};
#endif
  return count;
}
#else
__thread int tl_without_gil = 0;

int tl_python_stack(TlFrame* out, int n) {
  (void)out, (void)n;
  return 0;
}

int tl_python_frames(const void** out, int n) {
  (void)out, (void)n;
  return 0;
}
#endif

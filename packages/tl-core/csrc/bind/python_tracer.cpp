// The Python tracer: PyEval_SetProfile callbacks append calls to the thread's event log; names come later.
#include "bind/python_tracer.h"

#include <Python.h>
#include <frameobject.h>

#include <unordered_set>
#include <vector>

#include "base/event_log.h"
#include "bind/error.h"
#include "profile/recorded_events.h"

namespace tl::bind {

namespace {
bool g_on = false;
int64_t g_started = 0;

// What a thread is in: its open calls, outermost first.
struct OpenCalls {
  uint64_t session = 0;
  std::vector<OpenEvent> events;
};
thread_local OpenCalls t_open;

// Code objects that events name; they are retained, so that the names can be made later.
void keep(PyCodeObject* code) {
  static auto& retained = *new std::unordered_set<PyCodeObject*>;
  if (retained.insert(code).second) Py_INCREF(code);
}

std::string text(PyObject* o) {
  const char* utf8 = o ? PyUnicode_AsUTF8(o) : nullptr;
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "?";
}

std::string call_name(const Event& e) {
  if (e.kind == EventKind::NativeCall)
    return cat("<built-in function ", static_cast<const PyMethodDef*>(e.what)->ml_name, ">");
  auto* code = static_cast<PyCodeObject*>(const_cast<void*>(e.what));
  return cat(text(code->co_filename), "(", static_cast<int64_t>(e.number), "): ", text(code->co_name));
}

void begin_call(PyCodeObject* code, int64_t start) {
  keep(code);
  const OpenEvent open = begin_event(EventKind::Call, {});
  if (!open) return;
  open.event->what = code;
  open.event->number = code->co_firstlineno;
  if (start) open.event->start = start;
  t_open.events.push_back(open);
}

const PyMethodDef* definition_of(PyObject* function) {
  if (PyCFunction_Check(function)) return reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
  if (Py_IS_TYPE(function, &PyMethodDescr_Type))
    return reinterpret_cast<PyMethodDescrObject*>(function)->d_method;
  return nullptr;
}

void begin_native_call(PyObject* function) {
  const PyMethodDef* definition = definition_of(function);
  const OpenEvent open = begin_event(EventKind::NativeCall, definition ? "" : "<built-in function ?>");
  if (!open) return;
  open.event->what = definition;
  t_open.events.push_back(open);
}

void end_call() {
  if (t_open.events.empty()) return;
  end_event(t_open.events.back());
  t_open.events.pop_back();
}

// The calls that were running when the recording began, outermost first. The frame itself has just begun with
// a call, and counts then as new.
void begin_running(PyFrameObject* frame, bool with_frame) {
  std::vector<PyRef> codes;
  PyRef at(Py_NewRef(reinterpret_cast<PyObject*>(frame)));
  for (bool counts = with_frame; at; counts = true) {
    auto* f = reinterpret_cast<PyFrameObject*>(at.get());
    if (counts) codes.emplace_back(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    at = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  while (!codes.empty()) {
    begin_call(reinterpret_cast<PyCodeObject*>(codes.back().get()), g_started);
    codes.pop_back();
  }
}

void enter_session(PyFrameObject* frame, int what) {
  const EventLog* log = own_log();
  if (!log || t_open.session == log->session) return;
  t_open.session = log->session;
  t_open.events.clear();
  begin_running(frame, what != PyTrace_CALL);
}

int trace(PyObject*, PyFrameObject* frame, int what, PyObject* arg) {
  if (!is_recording()) return 0;
  enter_session(frame, what);
  switch (what) {
    case PyTrace_CALL: {
      PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
      begin_call(reinterpret_cast<PyCodeObject*>(code.get()), 0);
      break;
    }
    case PyTrace_C_CALL:
      begin_native_call(arg);
      break;
    case PyTrace_RETURN:
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
      end_call();
      break;
    default:
      break;
  }
  return 0;
}

void set_in_all_threads(Py_tracefunc function) {
#if PY_VERSION_HEX >= 0x030C0000
  PyEval_SetProfileAllThreads(function, nullptr);
#else
  PyThreadState* own = PyThreadState_Get();
  for (PyThreadState* t = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); t;
       t = PyThreadState_Next(t)) {
    PyThreadState_Swap(t);
    PyEval_SetProfile(function, nullptr);
  }
  PyThreadState_Swap(own);
#endif
}
}  // namespace

void start_tracer() {
  g_on = true;
  set_call_name(call_name);
  g_started = event_ticks();
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame) enter_session(frame, PyTrace_RETURN);
  set_in_all_threads(trace);
}

void stop_tracer() {
  if (!g_on) return;
  g_on = false;
  set_in_all_threads(nullptr);
}

}  // namespace tl::bind

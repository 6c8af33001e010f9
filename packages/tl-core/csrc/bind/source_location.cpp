// The running line: walks the frames to the first that isn't tl's own and interns its code and instruction.
#include "bind/source_location.h"

#include <Python.h>
#include <frameobject.h>

#include <string_view>

#include "bind/error.h"

namespace tl::bind {

namespace {
// tl's own modules; what a program wants to know is the line that called them.
bool is_ours(PyFrameObject* frame) {
  PyRef globals(PyFrame_GetGlobals(frame));
  PyObject* name = PyDict_GetItemString(globals.get(), "__name__");  // borrowed
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) return false;
  const std::string_view module = text;
  return module.starts_with("tl_") || module.starts_with("tl.") || module == "tl";
}

std::string text_of(PyObject* o) {
  const char* text = PyUnicode_AsUTF8(o);
  return text ? text : "?";
}

PyRef frame_of_program() {
  PyRef frame(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame && is_ours(reinterpret_cast<PyFrameObject*>(frame.get())))
    frame =
        PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()))));
  return frame;
}

OriginId source() { return PyGILState_Check() ? running_line() : 0; }
}  // namespace

OriginId running_line() noexcept {
  try {
    const PyRef frame = frame_of_program();
    Origin origin;
    origin.scope = memory_scope();
    if (frame) {
      auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
      PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
      origin.file = text_of(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
      origin.function = text_of(reinterpret_cast<PyCodeObject*>(code.get())->co_qualname);
      origin.line = PyFrame_GetLineNumber(f);
    }
    return intern_origin(origin);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

void install_origin_source() { set_origin_source(source); }

}  // namespace tl::bind

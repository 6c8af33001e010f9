// Where a failing node was recorded and a saved tensor was changed: Python finds the lines for the error.
#include "origin.h"

#include "bind/python.h"
#include "extra.h"

namespace tl::autograd {

int (*g_frames)(const void** out, int n) = nullptr;

namespace {
// tl_core.base.source_location.<function>(*arguments) as text; empty if it fails, since an error is being
// told already.
template <class... A>
std::string asked(const char* function, const char* format, A... arguments) {
  if (!Py_IsInitialized()) return {};
  WithGil lock;
  std::string text;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    PyRef module = checked(import_module("tl_core.base.source_location"));
    PyRef words = checked(run_python(PyObject_CallMethod, module.get(), function, format, arguments...));
    if (const char* utf8 = PyUnicode_AsUTF8(words.get())) text = utf8;
  } catch (const PythonError&) {
  }
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return text;
}
}  // namespace

std::string change_of(const TlTensor* t, uint32_t version) {
  if (!Py_IsInitialized()) return {};
  WithGil lock;
  PyRef object = wrapped(Tensor::share(const_cast<TlTensor*>(t)));
  const std::string where = asked("change", "OI", object.get(), static_cast<unsigned int>(version));
  return where.empty() ? where : "\nIt was changed at " + where;
}

std::string line_of(const void* const* frames, int n) {
  WithGil lock;
  PyRef list = checked(PyTuple_New(n));
  for (int i = 0; i < n; ++i)
    PyTuple_SET_ITEM(list.get(), i, PyLong_FromVoidPtr(const_cast<void*>(frames[i])));
  return asked("where", "(O)", list.get());
}

void name_failing(const Node& node) {
  const int kind = api->error_kind();
  if (kind == TL_ERROR_PYTHON || kind == TL_ERROR_INTERRUPT || kind == TL_ERROR_NONE) return;
  std::string text = api->error_message();
  if (text.find("\nIn the backward of ") != text.npos) return;
  text += "\nIn the backward of " + node.name();
  void* error = api->error_take();
  std::string where;
  if (const void* const* at = node.frames()) where = line_of(at, Node::kFrames);
  api->error_drop(error);
  api->error_set(kind, (where.empty() ? text : text + ", recorded at " + where).c_str());
}

}  // namespace tl::autograd

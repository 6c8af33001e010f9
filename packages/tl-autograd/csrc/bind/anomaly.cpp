// Anomaly detection: nodes keep the Python stack of their forward call; a failing backward shows it.
#include "anomaly.h"

#include "bind/node_object.h"
#include "bind/python.h"
#include "extra.h"
#include "levels/entry.h"
#include "ops.h"

namespace tl::autograd {

std::atomic<bool> g_anomaly{false}, g_anomaly_nan{true};

namespace {
constexpr const char* kStack = "traceback_";

PyRef stack_of(Node& node) {
  PyObject* metadata = node.extra ? node.extra->metadata : nullptr;
  return metadata ? PyRef::share(PyDict_GetItemString(metadata, kStack)) : PyRef();
}

void warn(Node& node) {
  PyRef stack = stack_of(node);
  std::string text = "Error detected in " + node.name() + ".";
  if (stack) {
    PyRef joined = checked(PyUnicode_Join(checked(PyUnicode_FromString("")).get(), stack.get()));
    text +=
        " Traceback of forward call that caused the error:\n" + std::string(PyUnicode_AsUTF8(joined.get()));
  } else {
    text +=
        " No forward pass information available. Enable detect anomaly during forward pass for more "
        "information.";
  }
  checked(PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1));
}
}  // namespace

void remember_origin(Node& node) {
  WithGil lock;
  calling_python([&] {
    PyRef traceback = checked(import_module("traceback"));
    PyRef stack = checked(run_python(PyObject_CallMethod, traceback.get(), "format_stack", nullptr));
    checked(PyDict_SetItemString(metadata(node).get(), kStack, stack.get()));
  });
}

void explain_failure(Node& node) {
  void* error = api->error_take();
  {
    WithGil lock;
    try {
      warn(node);
    } catch (const PythonError&) {
      bridge->pending_from_python();  // warnings are errors: this one ends the backward
      api->error_drop(error);
      return;
    }
  }
  api->error_restore(error);
}

namespace {
// The numbers of all examples: a batch has no one answer.
TlTensor* below_levels(TlTensor* t) {
  while (const Entry* entry = entry_of(t)) {
    if (!entry->value) break;
    t = entry->value.get();
  }
  return t;
}
}  // namespace

void refuse_nan(Node& node, TlTensor* const* grads) {
  GradMode off(false);
  for (uint32_t i = 0; i < node.n_edges; ++i)
    if (grads[i] && holds_nan(below_levels(grads[i])))
      fail(TL_ERROR_RUNTIME,
           "Function '" + node.name() + "' returned nan values in its " + std::to_string(i) + "th output.");
}

}  // namespace tl::autograd

// Python from C++: the bridge's table, errors in both directions.
#pragma once

#include <Python.h>

#include "core.h"
#include "tl/python.h"
#include "tl/python.hpp"

namespace tl::autograd {

extern const TlPython* bridge;

// Runs body for Python: its result, or NULL (-1) with an exception set.
template <class F>
auto guarded(F&& body) noexcept -> decltype(body()) {
  constexpr auto failed = [] {
    if constexpr (std::is_pointer_v<decltype(body())>)
      return nullptr;
    else
      return -1;
  };
  try {
    return body();
  } catch (const PythonError&) {
  } catch (...) {
    pending_from_exception();
    bridge->raise_pending();
  }
  return failed();
}

// Runs body, which calls Python, for the engine: a Python exception becomes the pending error.
template <class F>
void calling_python(F&& body) {
  try {
    body();
  } catch (const PythonError&) {
    bridge->pending_from_python();
    throw Pending();
  }
}

[[noreturn]] void raise(PyObject* type, const std::string& message);
TlTensor* tensor_of(PyObject* o);  // borrowed; raises TypeError
inline TlTensor* tensor_or_null(PyObject* o) { return o ? bridge->unwrap(o) : nullptr; }
PyRef wrapped(Tensor t);  // None for no tensor
void track(TlTensor* t);  // the collector shall look at the tensor's Python object

}  // namespace tl::autograd

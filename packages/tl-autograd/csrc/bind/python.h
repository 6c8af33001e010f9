// Python from C++: the bridge's table, owned references, errors in both directions.
#pragma once

#include <Python.h>

#include <utility>

#include "core.h"
#include "tl/python.h"

namespace tl::autograd {

extern const TlPython* bridge;

// Thrown while a Python exception is set.
struct PythonError {};

class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : o_(owned) {}
  static Ref share(PyObject* o) {
    Py_XINCREF(o);
    return Ref(o);
  }
  Ref(Ref&& o) noexcept : o_(std::exchange(o.o_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(o_, o.o_);
    return *this;
  }
  Ref(const Ref& o) : o_(o.o_) { Py_XINCREF(o_); }
  ~Ref() { Py_XDECREF(o_); }
  PyObject* get() const { return o_; }
  PyObject* take() { return std::exchange(o_, nullptr); }
  explicit operator bool() const { return o_; }

 private:
  PyObject* o_ = nullptr;
};

inline Ref checked(PyObject* owned) {
  if (!owned) throw PythonError();
  return Ref(owned);
}
inline void checked(int status) {
  if (status < 0) throw PythonError();
}

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
Ref wrapped(Tensor t);    // None for no tensor
void track(TlTensor* t);  // the collector shall look at the tensor's Python object

}  // namespace tl::autograd

// Operators called by PyTorch's names.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "stable_abi/values.h"

namespace tl::stable {

// An operator as PyTorch names it, with the types that its schema states. Without `native`, it is a function
// of Python: `callable`.
struct Target {
  const TlOperator* native = nullptr;
  PyObject* callable = nullptr;
  std::vector<Slot> args, rets;
  int n_positional = 0;  // what follows is passed by keyword
};

// Raises where there is none. Lives as long as the process.
const Target& target(const char* name, const char* overload);

// Calls an operator of the core, by its native name; `results` take over the tensors that it returns.
void call_core(const char* name, std::initializer_list<TlValue> args, std::initializer_list<Handle*> results);

inline TlValue tensor_value(Handle h) {
  TlTensor* t = tensor_or_null(h);
  TlValue v = tagged(t ? TL_TENSOR : TL_NONE);
  v.u.t = t;
  return v;
}
inline TlValue float_value(double f) {
  TlValue v = tagged(TL_FLOAT);
  v.u.f = f;
  return v;
}
inline TlValue int_list(const int64_t* data, int64_t n) {
  TlValue v = tagged(TL_INT_LIST);
  v.len = static_cast<uint32_t>(n);
  v.u.p = data;
  return v;
}

// The interpreter's lock, on any thread.
class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  Gil(const Gil&) = delete;
  ~Gil() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// A reference to a Python object; the lock is held. `checked` throws the exception of Python.
class Ref {
 public:
  explicit Ref(PyObject* owned = nullptr) : object_(owned) {}
  Ref(const Ref&) = delete;
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_;
};
Ref checked(PyObject* owned);
[[noreturn]] void throw_python();
// A function of tl_core/extensions/stable_registrations.py.
Ref python_function(const char* name);

}  // namespace tl::stable

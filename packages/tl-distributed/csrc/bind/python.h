// Python from C++: owned references, errors in both directions, the GIL let go while something waits.
#pragma once

#include "tl/tl.hpp"

namespace tl::distributed {

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
  Ref(const Ref& o) : o_(o.o_) { Py_XINCREF(o_); }
  Ref& operator=(Ref o) noexcept {
    std::swap(o_, o.o_);
    return *this;
  }
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

// Sets the Python exception for the C++ exception that is being handled.
void raise_from_exception() noexcept;

// Runs body for Python: its result, or NULL (-1) with an exception set.
template <class F>
auto for_python(F&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    raise_from_exception();
  }
  if constexpr (std::is_pointer_v<decltype(body())>)
    return nullptr;
  else
    return -1;
}

// While it stands, other Python threads run.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Holds the GIL, on a thread that may have none.
class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

[[noreturn]] void raise(PyObject* type, const std::string& message);
TlTensor* tensor_of(PyObject* o);  // borrowed; raises TypeError
int64_t integer_of(PyObject* o);   // raises
std::string text_of(PyObject* o);  // raises
void check_count(const char* function, Py_ssize_t given, Py_ssize_t wanted);

template <class F>
PyCFunction fast(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

}  // namespace tl::distributed

// Python from C++: owned references, checked calls, functions as the tables of Python's C API want them. The
// errors' way in the other direction is each library's own: it knows its exceptions.
// Header-only; C++17; needs no table.
#ifndef TL_PYTHON_HPP
#define TL_PYTHON_HPP

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <utility>

namespace tl {

// Thrown while a Python exception is set.
struct PythonError {};

// A share in a Python object, or none. Whoever copies or drops it holds the GIL.
class PyRef {
 public:
  explicit PyRef(PyObject* owned = nullptr) : object_(owned) {}
  static PyRef share(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return PyRef(borrowed);
  }
  PyRef(const PyRef& o) : object_(o.object_) { Py_XINCREF(object_); }
  PyRef(PyRef&& o) noexcept : object_(o.release()) {}
  PyRef& operator=(PyRef o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// The result of a call that returns a new reference; throws if the call failed.
inline PyRef checked(PyObject* owned) {
  if (!owned) throw PythonError();
  return PyRef(owned);
}
inline void checked(int status) {
  if (status < 0) throw PythonError();
}

// A module by its whole name, as a new reference, or null with an exception. PyImport_ImportModule would call
// the
// `__import__` of the running frame, which code with builtins of its own lacks or replaces.
inline PyObject* import_module(const char* name) {
  const PyRef package(PyImport_ImportModuleLevel(name, nullptr, nullptr, nullptr, 0));
  const PyRef text(package ? PyUnicode_FromString(name) : nullptr);
  PyObject* const module = text ? PyImport_GetModule(text.get()) : nullptr;
  if (text && !module && !PyErr_Occurred()) PyErr_SetObject(PyExc_ModuleNotFoundError, text.get());
  return module;
}

// Runs body, which may wait for the interpreter's lock. While the interpreter ends, CPython before 3.14 ends
// a thread that waits for it by unwinding its stack, which aborts the process where a frame is noexcept and
// drops Python objects without the lock everywhere else. The thread stops here instead, as it does in 3.14.
template <class F>
decltype(auto) park_at_exit(F&& body) {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// A call of one of CPython's functions that may run code of the program.
template <class F, class... A>
auto run_python(F* f, A... args) {
  return park_at_exit([&] { return f(args...); });
}

// The lock for a scope, from any thread, whether it has it or not.
class WithGil {
 public:
  WithGil() : state_(park_at_exit([] { return PyGILState_Ensure(); })) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// A scope in which other Python threads run, if `pays`.
class WithoutGil {
 public:
  explicit WithoutGil(bool pays = true) : state_(pays ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state_) park_at_exit([this] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// A function for a PyType_Slot.
template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}
// A function for a PyMethodDef whose flags say what it takes.
template <class F>
PyCFunction method(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

}  // namespace tl

#endif  // TL_PYTHON_HPP

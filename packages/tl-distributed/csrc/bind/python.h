// Python from C++: errors in both directions.
#pragma once

#include "tl/python.hpp"
#include "tl/tl.hpp"

namespace tl::distributed {

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

[[noreturn]] void raise(PyObject* type, const std::string& message);
TlTensor* tensor_of(PyObject* o);  // borrowed; raises TypeError
int64_t integer_of(PyObject* o);   // raises
std::string text_of(PyObject* o);  // raises
void check_count(const char* function, Py_ssize_t given, Py_ssize_t wanted);

}  // namespace tl::distributed

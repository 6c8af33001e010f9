// The exception that carries a user's error through C++, and the pending error of a thread at the C boundary.
#pragma once

#include <exception>
#include <initializer_list>
#include <memory>
#include <string>

#include "base/text.h"
#include "tl/c_api.h"

namespace tl {

enum class ErrorKind : int {
  None = TL_ERROR_NONE,
  Runtime = TL_ERROR_RUNTIME,
  Value = TL_ERROR_VALUE,
  Type = TL_ERROR_TYPE,
  Index = TL_ERROR_INDEX,
  NotImplemented = TL_ERROR_NOT_IMPLEMENTED,
  OutOfMemory = TL_ERROR_OUT_OF_MEMORY,
  Overflow = TL_ERROR_OVERFLOW,
  Attribute = TL_ERROR_ATTRIBUTE,
  Import = TL_ERROR_IMPORT,
  Interrupt = TL_ERROR_INTERRUPT,
  LinAlg = TL_ERROR_LINALG,
  ZeroDivision = TL_ERROR_ZERO_DIVISION,
  Key = TL_ERROR_KEY,
  Python = TL_ERROR_PYTHON,
  Os = TL_ERROR_OS,
  Buffer = TL_ERROR_BUFFER,
  Assertion = TL_ERROR_ASSERTION,
  Accelerator = TL_ERROR_ACCELERATOR,
};

struct PendingError;

// What only some errors carry: the place in a source, and the error that led to this one.
struct ErrorOrigin {
  std::string where;
  std::shared_ptr<PendingError> cause;
};

struct Error : std::exception {
  ErrorKind kind;
  std::string message;
  void* payload = nullptr;  // a Python exception (ErrorKind::Python), owned by the pending error
  std::shared_ptr<ErrorOrigin> origin;

  Error(ErrorKind k, std::string m, void* p = nullptr) : kind(k), message(std::move(m)), payload(p) {}
  const char* what() const noexcept override { return message.c_str(); }
};

// The system refuses an operation on a file: OSError in Python, with the number and the path.
struct FileError : Error {
  int number;  // errno

  FileError(int number, std::string path) : Error(ErrorKind::Runtime, std::move(path)), number(number) {}
  const std::string& path() const { return message; }
};

[[noreturn, gnu::cold]] void fail(ErrorKind kind, std::initializer_list<Part> parts);
template <class... Parts>
[[noreturn, gnu::cold]] void fail(ErrorKind kind, const Parts&... parts) {
  fail(kind, {Part(parts)...});
}

#define TL_CHECK(condition, kind, ...)                  \
  do {                                                  \
    if (!(condition)) [[unlikely]]                      \
      ::tl::fail(::tl::ErrorKind::kind, {__VA_ARGS__}); \
  } while (0)

// ---- the pending error of this thread ---------------------------------------------------------------------
struct PendingError {
  ErrorKind kind = ErrorKind::None;
  std::string message;
  void* payload = nullptr;
  std::shared_ptr<ErrorOrigin> origin;
};
PendingError& pending_error();
void set_pending(ErrorKind kind, std::string message, void* payload = nullptr);
void set_pending_from_current_exception() noexcept;  // inside a catch block
[[noreturn]] void throw_pending();                   // after a call returned -1

// Runs body at a C boundary: 0, or -1 with the pending error set.
template <class F>
int guarded(F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    set_pending_from_current_exception();
    return -1;
  }
}

}  // namespace tl

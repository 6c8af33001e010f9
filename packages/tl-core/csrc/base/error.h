// The exception that carries a user's error through C++, and the pending error of a thread at the C boundary.
#pragma once

#include <charconv>
#include <concepts>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

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
};

struct Error : std::exception {
  ErrorKind kind;
  std::string message;
  void* payload = nullptr;  // a Python exception (ErrorKind::Python), owned by the pending error

  Error(ErrorKind k, std::string m, void* p = nullptr) : kind(k), message(std::move(m)), payload(p) {}
  const char* what() const noexcept override { return message.c_str(); }
};

// ---- text: cat(1, " of ", x)
// -------------------------------------------------------------------------------------
inline void append(std::string& out, std::string_view s) { out += s; }
inline void append(std::string& out, char c) { out += c; }
// Exactly bool: a character array would rather become one than a string_view.
void append(std::string& out, std::same_as<bool> auto b) { out += b ? "True" : "False"; }
std::string shortest(double value);  // as Python's repr writes it

template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>)
void append(std::string& out, T value) {
  char buffer[24];
  auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}
inline void append(std::string& out, double value) { out += shortest(value); }

template <class Range>
  requires requires(const Range& r) {
    r.begin();
    r.end();
    r.size();
  } && (!std::is_convertible_v<Range, std::string_view>)
void append(std::string& out, const Range& range) {
  out += '[';
  bool first = true;
  for (const auto& x : range) {
    if (!first) out += ", ";
    first = false;
    append(out, x);
  }
  out += ']';
}

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, cat(parts...));
}

#define TL_CHECK(condition, kind, ...)                \
  do {                                                \
    if (!(condition)) [[unlikely]]                    \
      ::tl::fail(::tl::ErrorKind::kind, __VA_ARGS__); \
  } while (0)

// ---- the pending error of this thread
// ------------------------------------------------------------------------------
struct PendingError {
  ErrorKind kind = ErrorKind::None;
  std::string message;
  void* payload = nullptr;
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

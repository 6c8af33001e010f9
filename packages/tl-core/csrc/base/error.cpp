#include "base/error.h"

#include <cmath>
#include <new>

#include "base/thread_local.h"

namespace tl {

PendingError& pending_error() { return thread_locals().error; }

void set_pending(ErrorKind kind, std::string message, void* payload) {
  pending_error() = {kind, std::move(message), payload};
}

void set_pending_from_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    set_pending(e.kind, e.message, e.payload);
  } catch (const std::bad_alloc&) {
    set_pending(ErrorKind::OutOfMemory, "out of memory");
  } catch (const std::exception& e) {
    set_pending(ErrorKind::Runtime, e.what());
  } catch (...) {
    set_pending(ErrorKind::Runtime, "an error of unknown type was thrown");
  }
}

void throw_pending() {
  PendingError error = std::move(pending_error());
  pending_error() = {};
  throw Error(error.kind, std::move(error.message), error.payload);
}

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  // Python writes exponents from 1e16 on and below 1e-4, and always shows that the number is a float.
  const double size = std::abs(value);
  const bool scientific = size != 0 && (size >= 1e16 || size < 1e-4);
  auto [end2, code2] = std::to_chars(buffer, buffer + sizeof buffer, value,
                                     scientific ? std::chars_format::scientific : std::chars_format::fixed);
  text.assign(buffer, end2);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace tl

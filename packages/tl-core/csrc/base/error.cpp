// The pending error of a thread, and its conversion from and to C++ exceptions.
#include "base/error.h"

#include <new>

#include "base/thread_local.h"

namespace tl {

PendingError& pending_error() { return thread_locals().error; }

void set_pending(ErrorKind kind, std::string message, void* payload) {
  pending_error() = {kind, std::move(message), payload, nullptr};
}

void set_pending_from_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    set_pending(e.kind, e.message, e.payload);
    pending_error().origin = e.origin;
  } catch (const std::bad_alloc&) {
    set_pending(ErrorKind::OutOfMemory, "out of memory");
  } catch (const std::exception& e) {
    set_pending(ErrorKind::Runtime, e.what());
  } catch (...) {
    set_pending(ErrorKind::Runtime, "an error of unknown type was thrown");
  }
}

void fail(ErrorKind kind, std::initializer_list<Part> parts) { throw Error(kind, cat(parts)); }

void throw_pending() {
  PendingError error = std::move(pending_error());
  pending_error() = {};
  Error thrown(error.kind, std::move(error.message), error.payload);
  thrown.origin = std::move(error.origin);
  throw thrown;
}

}  // namespace tl

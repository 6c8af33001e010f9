// Errors of tl-core's C interface as C++ exceptions, and exceptions as its pending error.
#include "core.h"

#include <exception>
#include <new>

namespace tl::autograd {

const TlApi* api = nullptr;

void fail(int kind, const std::string& message) {
  api->error_set(kind, message.c_str());
  throw Pending();
}

int pending_from_exception() noexcept {
  try {
    throw;
  } catch (const Pending&) {
  } catch (const std::bad_alloc&) {
    api->error_set(TL_ERROR_OUT_OF_MEMORY, "out of memory in autograd");
  } catch (const std::exception& e) {
    api->error_set(TL_ERROR_RUNTIME, e.what());
  } catch (...) {
    api->error_set(TL_ERROR_RUNTIME, "an unknown exception in autograd");
  }
  return -1;
}

}  // namespace tl::autograd

// Errors of tl-core's C interface as C++ exceptions, and exceptions as its pending error.
#include "core.h"

#include <exception>
#include <new>

namespace tl::compiler {

const TlApi* api = nullptr;

int pending_from_exception() noexcept {
  try {
    throw;
  } catch (const Pending&) {
  } catch (const std::bad_alloc&) {
    api->error_set(TL_ERROR_OUT_OF_MEMORY, "out of memory while compiled work was planned");
  } catch (const std::exception& e) {
    api->error_set(TL_ERROR_RUNTIME, e.what());
  } catch (...) {
    api->error_set(TL_ERROR_RUNTIME, "an unknown exception in the compiler");
  }
  return -1;
}

}  // namespace tl::compiler

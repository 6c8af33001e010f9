// The step from C++ exceptions to the pending error of a thread, for every header over the table of
// tl/c_api.h. A header passes its table, and a function that handles the exceptions of its own.
#ifndef TL_EXCEPTIONS_HPP
#define TL_EXCEPTIONS_HPP

#include <tl/c_api.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace tl::exceptions {

// Makes the exception that is being handled the thread's pending error; -1. `own` throws the exception again
// and catches its own types. `part` ends the messages that have no text of their own, such as " in
// autograd".
template <class Own>
[[gnu::cold, gnu::noinline]] int make_pending(const TlApi& api, const char* part, Own own) noexcept {
  try {
    try {
      own();
    } catch (const std::bad_alloc&) {
      api.error_set(TL_ERROR_OUT_OF_MEMORY, (std::string("out of memory") + part).c_str());
    } catch (const std::out_of_range& e) {  // IndexError, as pybind11 translates it
      api.error_set(TL_ERROR_INDEX, e.what());
    } catch (const std::exception& e) {
      api.error_set(TL_ERROR_RUNTIME, e.what());
    } catch (...) {
      api.error_set(TL_ERROR_RUNTIME,
                    (std::string("an exception of unknown type was thrown") + part).c_str());
    }
  } catch (...) {  // no memory for the message
    api.error_set(TL_ERROR_OUT_OF_MEMORY, "out of memory");
  }
  return -1;
}

// Runs a body where no exception may pass: 0, or the result of `make_pending` of the header.
template <class F>
int guarded(F& body, int (*make_pending)() noexcept) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    return make_pending();
  }
}

}  // namespace tl::exceptions

#endif  // TL_EXCEPTIONS_HPP

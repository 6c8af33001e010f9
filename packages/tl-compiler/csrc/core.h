// The door to tl-core: its table, owned handles, and errors as exceptions inside this library.
#pragma once

#include "tl/handles.hpp"

namespace tl::compiler {

using handles::api;
using handles::argument_info;
using handles::check;
using handles::owned;
using handles::Pending;
using handles::Tensor;

inline constexpr uint64_t kDeferBit = uint64_t{1} << TL_LAYER_DEFER;

// Makes the exception that is being handled the thread's pending error; -1.
inline int pending_from_exception() noexcept {
  return handles::pending_from_exception_in(" in the compiler");
}

}  // namespace tl::compiler

// Elements as so many bytes, for what only moves them.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/isa.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

struct alignas(8) Item16 {
  uint64_t words[2];
};

// f(a null pointer to a type of that size)
template <class F>
TL_INLINE auto by_size(int64_t item_size, F f) {
  switch (item_size) {
    case 1:
      return f(static_cast<int8_t*>(nullptr));
    case 2:
      return f(static_cast<int16_t*>(nullptr));
    case 4:
      return f(static_cast<int32_t*>(nullptr));
    case 8:
      return f(static_cast<int64_t*>(nullptr));
    default:
      return f(static_cast<Item16*>(nullptr));
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

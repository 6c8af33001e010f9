// Size arithmetic.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace tl {

// Raise instead of wrapping around.
inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t out;
  TL_CHECK(!__builtin_mul_overflow(a, b, &out), Runtime, "Storage size calculation overflowed: ", a, " * ",
           b);
  return out;
}

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t out;
  TL_CHECK(!__builtin_add_overflow(a, b, &out), Runtime, "Storage size calculation overflowed: ", a, " + ",
           b);
  return out;
}

// For strides and offsets that may be any number, because no element is found by them: of a dimension of one
// position, of a tensor without elements.
inline int64_t wrapped_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

inline int64_t wrapped_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

}  // namespace tl

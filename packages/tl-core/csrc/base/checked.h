// Size arithmetic that raises instead of wrapping around.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace tl {

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

}  // namespace tl

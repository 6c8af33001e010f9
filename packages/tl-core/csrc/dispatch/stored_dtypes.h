// The layer that keeps tensors of types that are only stored from operators that do not take them.
#pragma once

#include "base/dtype.h"

namespace tl {

// The kinds of such types, a bit each; what an operator takes is a set of them.
enum Stored : uint8_t { kFloat8 = 1, kFloat4 = 2, kBits = 4, kQuantized = 8, kNarrow = 16 };

constexpr uint8_t stored_kind(DType d) {
  return is_float8(d)                    ? kFloat8
         : d == stored::Float4_e2m1fn_x2 ? kFloat4
         : is_bits(d)                    ? kBits
         : is_quantized(d)               ? kQuantized
                                         : kNarrow;
}

void install_stored_dtypes();  // once, after the operators

}  // namespace tl

// The diagonal block of a triangle, by substitution: what is left of a triangular system when all else is
// products.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tl::cpu {

// x = t^-1 x for `rows` x `rows` of t and `rows` x `columns` of x, both row-major. Of t, only the triangle
// is read, and its diagonal only unless it is `unit`.
struct DiagonalBlock {
  static constexpr int64_t kRows = 32;
  int64_t rows, columns;
  bool upper, unit;
  const char* t;
  int64_t t_stride;
  char* x;
  int64_t x_stride;  // in elements, as t_stride
};
void solve_block(DType dtype, const DiagonalBlock& block);  // Float32 or Float64

}  // namespace tl::cpu

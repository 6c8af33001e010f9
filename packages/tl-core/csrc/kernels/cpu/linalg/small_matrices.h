// LU and Cholesky of batches of small real matrices: a vector holds one element of as many matrices.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tl::cpu {

// Up to this order the kernels below are quicker than a call of LAPACK for each matrix.
constexpr int64_t kSmallOrder = 16;
// A single matrix leaves all lanes but one idle, and batches of fewer than these most: beyond this order
// LAPACK is quicker for them.
constexpr int64_t kSmallOrderAlone = 4, kLanesInUse = 8;

// `count` dense matrices of order n <= kSmallOrder, as they are read; what is written is column-major. `info`
// is 0 or, as in LAPACK, the number of the first pivot that is 0 or of the first leading minor that isn't
// positive.
struct SmallMatrices {
  const char* from;
  bool row_major;
  int64_t count, n;
};

struct SmallMatrixKernels {
  // LU with partial pivoting; `pivots` holds n row numbers from 1 for each matrix.
  void (*getrf)(const SmallMatrices& s, char* lu, int32_t* pivots, int32_t* info);
  void (*invert)(const SmallMatrices& s, char* inverse, int32_t* info);
  // b = a^-1 b for column-major right-hand sides of n x columns.
  void (*solve)(const SmallMatrices& s, char* b, int64_t columns, int32_t* info);
  // The Cholesky factor of the triangle that is read, with zeros beyond it.
  void (*potrf)(const SmallMatrices& s, bool upper, char* factor, int32_t* info);
};

const SmallMatrixKernels& small_matrix_kernels(DType dtype);  // Float32, Float64
inline bool is_small(DType dtype, int64_t n) {
  return (dtype == DType::Float32 || dtype == DType::Float64) && n <= kSmallOrder;
}

}  // namespace tl::cpu

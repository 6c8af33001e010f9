// Systems of real triangles, and of matrices that are products of two, by blocks.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/gemm/gemm.h"

namespace tl::cpu {

// Triangles of `order` rows, dense matrices one after the other.
struct TriangularFactor {
  const char* data;
  int64_t row_stride, column_stride;  // in elements
  bool upper, unit;
};

// `count` systems F X = B, or F1 F2 X = B: X, which starts as B, gets the solutions.
struct TriangularSystems {
  enum Given : uint8_t { Values, Identity, SymmetricInverse };  // B; or it is 1, and X may be symmetric

  DType dtype;  // Float32 or Float64
  int64_t count, order, columns;
  MatrixView x;  // of the first system; the others' matrices follow
  TriangularFactor factors[2];
  int factor_count = 1;
  Given given = Values;
  // The exchanges of rows that getrf gives: of B, or backwards of X.
  const int32_t* pivots = nullptr;
  bool pivots_last = false;
};
void solve_triangles(const TriangularSystems& systems);

}  // namespace tl::cpu

// Pairwise p-norm distances of two sets of rows (cdist; pdist with the strict upper triangle), and gradient.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

// The pairs of a row: with all others, or with those of a higher or of a lower number. What is there of each
// pair with a higher number lies side by side, row by row.
enum class Pairs { All, Later, Earlier };

struct CdistShape {
  int64_t batch, rows, others, width;
  double p;  // the exponent of the norm, at least 0
  Pairs pairs;

  int64_t per_batch() const { return pairs == Pairs::All ? rows * others : rows * (rows - 1) / 2; }
  int64_t first_other(int64_t row) const { return pairs == Pairs::Later ? row + 1 : 0; }
  int64_t end_other(int64_t row) const { return pairs == Pairs::Earlier ? row : others; }
  int64_t pair(int64_t row, int64_t other) const {  // its place in a collection
    if (pairs == Pairs::All) return row * others + other;
    const int64_t low = pairs == Pairs::Later ? row : other, high = pairs == Pairs::Later ? other : row;
    return low * (2 * others - low - 1) / 2 + high - low - 1;
  }
};

// Of Float32 or Float64, all dense: rows [batch][rows][width], others [batch][others][width].
struct DistanceKernels {
  // The others lie as columns: [batch][width][others].
  void (*distances)(const CdistShape& s, char* out, const char* rows, const char* others);
  // The gradient with respect to `rows`; `distances` and `grad` lie as the pairs do, the exponent is finite.
  void (*backward)(const CdistShape& s, char* out, const char* rows, const char* others,
                   const char* distances, const char* grad);
};
const DistanceKernels& distance_kernels(DType dtype);

}  // namespace tl::cpu

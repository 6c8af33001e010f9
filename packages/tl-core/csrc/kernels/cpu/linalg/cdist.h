// Pairwise p-norm distances of two sets of rows (cdist; pdist with the strict upper triangle), and gradient.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

struct CdistShape {
  int64_t batch, rows, others, width;
  double p;    // the exponent of the norm, at least 0
  bool later;  // only pairs with an other of a higher number than the row's, side by side

  int64_t before(int64_t row) const {  // how many pairs of a collection come before the row's
    return later ? row * (2 * others - row - 1) / 2 : row * others;
  }
};

// Of Float32 or Float64, all dense: rows [batch][rows][width], others [batch][others][width].
struct DistanceKernels {
  // The others lie as columns: [batch][width][others].
  void (*distances)(const CdistShape& s, char* out, const char* rows, const char* others);
  // The gradient with respect to `rows`; `distances` and `grad` are [batch][rows][others], the exponent is
  // finite.
  void (*backward)(const CdistShape& s, char* out, const char* rows, const char* others,
                   const char* distances, const char* grad);
};
const DistanceKernels& distance_kernels(DType dtype);

}  // namespace tl::cpu

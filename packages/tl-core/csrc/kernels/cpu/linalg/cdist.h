// Distances between each of some rows and each of others.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

struct Pairs {
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
  void (*distances)(const Pairs& s, char* out, const char* rows, const char* others);
  // The gradient by the rows; `distances` and `grad` are [batch][rows][others], the exponent is finite.
  void (*slopes)(const Pairs& s, char* out, const char* rows, const char* others, const char* distances,
                 const char* grad);
};
const DistanceKernels& distance_kernels(DType dtype);

}  // namespace tl::cpu

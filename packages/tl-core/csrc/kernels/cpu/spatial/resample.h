// A linear map along each of up to three axes: average pooling, interpolation, their adjoints.
#pragma once

#include <functional>

#include "base/dtype.h"
#include "kernels/cpu/spatial/resample_weights.h"

namespace tl::cpu {

// `dtype`: Float32 or Float64.
void resample(DType dtype, const SeparableResample& field, char* out, const char* in);

// The same for some dense rows that are so long that their map is not made at once: piece(begin, end) is the
// part that has those outputs.
struct LongRows {
  int64_t rows, inputs, outputs;
  std::function<ResampleWeights(int64_t begin, int64_t end)> piece;

  static constexpr int64_t kFew = 32, kLong = 1 << 14;
};
void resample_rows(DType dtype, const LongRows& field, char* out, const char* in);

// Sums to the nearest whole numbers that bytes hold, halves upwards, in place.
void round_to_bytes(DType dtype, char* sums, int64_t n);

}  // namespace tl::cpu

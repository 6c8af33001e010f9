// Pooling along dense rows, for grids of one axis: a row may be so long that even a list of its taps would
// cost more than the pooling.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/spatial/axis_windows.h"

namespace tl::cpu {

// Windows of so many neighbours are read in vectors along the row, and summed as those have their lanes.
inline constexpr int64_t kLongWindow = 64;

// Whether windows lie regularly or are long, so that their numbers suffice.
inline bool suits_rows(const AxisWindows& w) {
  return w.inputs <= INT32_MAX && (w.kernel > 0 || w.inputs / w.outputs >= kLongWindow);
}

// As max_pool. `dtype` is Float32 or Float64, here and below.
void max_of_rows(DType dtype, const AxisWindows& windows, int64_t rows, char* out, int64_t* indices,
                 const char* in);

// Sums divided by `divisor`, or if that is 0 by what each window counts.
struct WindowMeans {
  AxisWindows windows;
  bool padded;
  int64_t divisor;
};
void mean_of_rows(DType dtype, const WindowMeans& means, int64_t rows, char* out, const char* in);

}  // namespace tl::cpu

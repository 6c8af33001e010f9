// Inner loops of reductions by dtype and operator, which reduce.cpp runs over all of a ReduceShape.
#pragma once

#include "kernels/cpu/reduce/reduce.h"

namespace tl::cpu {

inline constexpr int kColumns = 256;  // columns reduced side by side, or rows in one call, at most

// The reduced dimensions, the outermost one restricted to [first, last).
struct ReducedRange {
  const int64_t *sizes, *strides;
  int dims;
  int64_t first, last;
};

enum class Reducer { Sum, Prod, Amax, Amin, Any, All, SquaredDeviations, Deviations };
inline constexpr int kNumReducers = 8;

// Partial results are bool for Any and All, int64 for sums and products of integers, else of the dtype's
// opmath type.
struct ReducerKernels {
  // n partial results of rows that begin `stride` bytes apart, one row after another. The shifts are partial
  // results (of deviations only), or null.
  void (*rows)(void* acc, const char* in, int n, int64_t stride, const ReducedRange& range,
               const void* shifts);
  // Those of up to kColumns columns, side by side.
  void (*columns)(void* acc, const char* in, int n, int64_t stride, const ReducedRange& range,
                  const void* shifts);
  // acc[i] = acc[i] with part[i]
  void (*merge)(void* acc, const void* part, int n);
  bool vectors;  // short dense rows are as fast as long ones
};
const ReducerKernels& reducer_kernels(Reducer reducer, DType dtype);  // all null where there are none

struct ExtremeKernels {
  // The indices of the first elements of n rows that equal values[i] (a NaN equals a NaN).
  void (*find)(char* second, int64_t second_stride, const char* in, int n, int64_t stride,
               const ReducedRange& range, const void* values);
  // Values and indices of n columns, `stride` bytes apart; `out` may be null.
  void (*columns)(char* out, int64_t out_stride, char* second, int64_t second_stride, const char* in, int n,
                  int64_t stride, const ReducedRange& range);
};
const ExtremeKernels& extreme_kernels(bool largest, DType dtype);

}  // namespace tl::cpu

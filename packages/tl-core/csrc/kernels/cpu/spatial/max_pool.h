// The largest element of each window. The maps' weights are not looked at.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/spatial/resample_weights.h"

namespace tl::cpu {

// `dtype`: Float32, Float64 or Int64. `indices`: of the chosen elements within their plane, or NULL. NaN is
// larger than any number; of equals the first in memory wins, of NaNs the last. A window without elements
// gives the lowest value and the index -1.
void max_pool(DType dtype, const SeparableResample& field, char* out, int64_t* indices, const char* in);

// The same one element at a time, for any type.
void max_windows(DType dtype, const SeparableResample& field, char* out, int64_t* indices, const char* in);

// out[p][index] += in (or = in, of equals the last) in planes of `plane` positions with `inner` elements,
// `count` positions a plane in `in`. Fills `out` with zeros first. Where it adds, -1 means nowhere; returns
// false if another index lies outside of the plane.
bool put_in_planes(DType dtype, bool add, int64_t planes, int64_t plane, int64_t count, int64_t inner,
                   char* out, const int64_t* indices, const char* in);

// Sums of windows of int64, the maps' weights not looked at.
void sum_windows(const SeparableResample& field, int64_t* out, const int64_t* in);

}  // namespace tl::cpu

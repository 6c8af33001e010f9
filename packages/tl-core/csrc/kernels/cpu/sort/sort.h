// Orders along one dimension: sorting, the first of what sorting would give, single ranks, the most frequent
// element. Equal elements keep their order; NaN is larger than every number. Not for complex numbers.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/loops/along_dim.h"

namespace tl::cpu {

inline constexpr int64_t kMaxSorted = 0xffffffff;  // elements a line may have

// The first `count` elements of the order. Operands of the shape: values, indices (int64), input.
void sort(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* values, char* indices,
          const char* in);

// The element at a place of the order, and where it stands first. Of an even number of elements the median is
// the lower one; where there is a NaN, it is the first one, unless NaNs are left out.
enum class Rank { Nth, Median, NanMedian };
void select_rank(DType dtype, const AlongShape& shape, Rank rank, int64_t n, char* values, char* indices,
                 const char* in);

// The most frequent element, of several the smallest, and where it stands last.
void mode(DType dtype, const AlongShape& shape, char* values, char* indices, const char* in);

}  // namespace tl::cpu

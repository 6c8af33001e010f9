// Ordering elements along one dimension. Sorting is stable; NaN counts as larger than every number; not for
// complex dtypes.
#pragma once

#include "kernels/cpu/along.h"
#include "kernels/cpu/loop.h"

namespace tl::cpu {

// Operands of the shape: values, indices (int64), input.
void sort(DType dtype, bool descending, const AlongShape& shape, char* values, char* indices, const char* in);

// The k largest (smallest) elements, in order; equal ones by their index. Operands as above; the shape's n is
// the input's, the outputs have k elements along the dimension, 0 < k <= n.
void topk(DType dtype, int64_t k, bool largest, const AlongShape& shape, char* values, char* indices,
          const char* in);

}  // namespace tl::cpu

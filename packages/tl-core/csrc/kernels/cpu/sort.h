// Sorting along one dimension, and the first of what sorting would give.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/along.h"

namespace tl::cpu {

// Operands of the shape: values, indices (int64), input; values and indices take `count` elements. Equal
// elements keep their order; NaN is larger than every number. Not for complex numbers.
void sort(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* values, char* indices,
          const char* in);

}  // namespace tl::cpu

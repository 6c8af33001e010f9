// Topk along a dim: the k smallest or largest elements of each row, sorted, without sorting the row.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/loops/along_dim.h"

namespace tl::cpu {

using TopkKernel = void (*)(const AlongShape& shape, char* const* data, int64_t count, bool descending);

// data: values, indices (int64), input. Not for complex numbers.
void topk(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* const* data);

}  // namespace tl::cpu

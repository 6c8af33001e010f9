// The first elements of lines in their order, without sorting the lines.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/loops/along_dim.h"

namespace tl::cpu {

using TopKernel = void (*)(const AlongShape& shape, char* const* data, int64_t count, bool descending);

// data: values, indices (int64), input. Not for complex numbers.
void top(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* const* data);

}  // namespace tl::cpu

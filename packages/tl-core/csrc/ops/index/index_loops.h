// Running the loops of kernels/cpu/index/index.h over a nest of values, the tensor that is indexed, and
// indices.
#pragma once

#include "iter/loop_nest.h"
#include "kernels/cpu/index/index.h"

namespace tl {

// values[...] = tensor[indices * stride], strides in bytes. The form with a size looks at each index before
// it uses it: false, and what was written so far, if one is not in [0, size).
void run_gather(const LoopNest& nest, int64_t item_size, int64_t stride);
bool run_gather_within(const LoopNest& nest, int64_t item_size, int64_t stride, int64_t size);

// tensor[indices * stride] combined with values[...]. On one thread: what is written twice to a index is then
// always the same. The form with a size as above.
void run_scatter(const LoopNest& nest, cpu::Combine combine, DType dtype, int64_t stride);
bool run_scatter_within(const LoopNest& nest, cpu::Combine combine, DType dtype, int64_t stride,
                        int64_t size);

}  // namespace tl

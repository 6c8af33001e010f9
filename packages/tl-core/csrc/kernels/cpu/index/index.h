// Reading and writing at indices that tensors hold. The loops are elementwise ones (see loop.h) over the
// indices: int64 each, times `stride` bytes from where the operand they move begins. They are within bounds.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

struct IndexParams {
  int64_t stride;
};

// data: output, moved input, indices; params: IndexParams. A row with one index moves as a whole.
ElementwiseLoop gather_loop(int64_t item_size);

// data: moved output, input, indices; params: IndexParams. What two indices write to the same element is
// combined in the order of the loop. Null for the extremes of complex numbers.
enum class Combine { Set, Add, Multiply, Max, Min };
ElementwiseLoop scatter_loop(Combine combine, DType dtype);
ElementwiseLoop set_loop(int64_t item_size);  // that of Combine::Set

// The first of n indices that is not in [low, high), or n.
int64_t find_out_of_bounds(const int64_t* indices, int64_t n, int64_t low, int64_t high);

// ---- masks: dense rows of bools, any value but zero being true --------------------------------------------

int64_t count_true(const char* mask, int64_t n);
// The elements where the mask holds, one after another.
void compress(int64_t item_size, char* out, const char* in, const char* mask, int64_t n);
// The elements one after another, to where the mask holds.
void spread(int64_t item_size, char* out, const char* in, const char* mask, int64_t n);

// ---- positions of what isn't zero -------------------------------------------------------------------------

// A strided block of elements, dimensions outermost first.
struct Block {
  const char* data;
  int dims;
  const int64_t *sizes, *strides;  // in bytes
};
int64_t count_nonzero(DType dtype, const Block& block);
// Writes the indices of each element that isn't zero, in order: out[i * row_stride + d * column_stride],
// strides in elements.
void nonzero(DType dtype, const Block& block, int64_t* out, int64_t row_stride, int64_t column_stride);

}  // namespace tl::cpu

// Reading and writing at positions given by index tensors. All are elementwise loops (see loop.h); an index
// out of range raises IndexError.
#pragma once

#include "kernels/cpu/loop.h"

namespace tl::cpu {

// ---- along one dimension: gather, scatter, index_select, index_add
// ------------------------------------------------------ The loop runs over the index's elements. The indexed
// operand has stride 0 in the indexed dimension. The index is int64; one with stride 0 (an expanded one:
// index_select, embedding) makes rows move as a whole.
struct AlongIndex {
  int64_t size, stride;  // of the indexed dimension, the stride in bytes
  int64_t dim;           // for the error message
};

// data: output, indexed input, index; params: AlongIndex.
ElementwiseLoop gather_loop(int64_t item_size);

enum class Combine { Set, Add, Multiply, Max, Min };

// data: indexed output, input, index; params: AlongIndex. Lines that may write the same elements must not run
// at once: divide the work along other dimensions than the indexed one. Not all dtypes combine: null for the
// extremes of complex numbers.
ElementwiseLoop scatter_loop(Combine combine, DType dtype);

// ---- at several dimensions at once: x[i, j], x[i, j] = y, index_put
// ----------------------------------------------------- As many int64 indices as dimensions are indexed, all
// broadcast to one shape; the indexed operand has stride 0 wherever they run. Negative indices count from the
// end.
inline constexpr int kMaxIndices = 61;  // of 64 operands a planner has

struct PointIndex {
  int count;
  const int64_t *sizes, *strides;  // of the indexed dimensions, strides in bytes
  const int64_t* dims;             // for the error message
};

// data: output, indexed input, indices...; params: PointIndex.
ElementwiseLoop index_get_loop(int64_t item_size);
// data: indexed output, input, indices...; params: PointIndex. Of elements written twice the last one stays.
ElementwiseLoop index_put_loop(int64_t item_size);
// The same, adding up; must not be divided among threads.
ElementwiseLoop index_add_loop(DType dtype);

// ---- positions of what isn't zero
// -----------------------------------------------------------------------------------------

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

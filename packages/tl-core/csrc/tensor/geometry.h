// Arithmetic on shapes and strides.
#pragma once

#include "base/small_vector.h"
#include "tensor/tensor.h"

namespace tl {

DimVector contiguous_strides(IntSpan sizes);
DimVector channels_last_strides(IntSpan sizes);  // 4-d or 5-d
DimVector strides_for(IntSpan sizes, MemoryFormat format);
// The strides of a fresh tensor laid out in memory as `like` is (memory_format=preserve_format).
DimVector preserved_strides(IntSpan sizes, IntSpan strides);
bool is_contiguous(IntSpan sizes, IntSpan strides);
bool is_channels_last(IntSpan sizes, IntSpan strides);
// The memory format that results take over from an input: channels_last where its strides, dense or not, are
// in that order.
MemoryFormat preferred_format(const Tensor& t);
bool is_dense(IntSpan sizes, IntSpan strides);     // no gaps and no overlap, in some order of dimensions
bool may_overlap(IntSpan sizes, IntSpan strides);  // two elements may share memory

// The broadcast of two shapes; raises with both shapes in the message.
DimVector broadcast_shapes(IntSpan a, IntSpan b);
// The sizes with -1 filled in; raises if `numel` elements do not fit.
DimVector infer_size(IntSpan sizes, int64_t numel);
// Strides with which a view of that shape exists, or nothing.
bool view_strides(IntSpan sizes, IntSpan strides, IntSpan new_sizes, DimVector& out);
// A dimension counted from the front; raises IndexError naming the range.
int64_t wrap_dim(int64_t dim, int64_t ndim, bool scalar_has_one = true);
// Which dimensions a list of dims means (empty list: all); raises on repeats.
uint64_t dim_mask(IntSpan dims, int64_t ndim, bool empty_is_all = true);
// Bytes from the first element to behind the last one the geometry reaches.
int64_t span_bytes(IntSpan sizes, IntSpan strides, int64_t itemsize);
// Raises unless the geometry stays inside a storage; no numbers are too large for the question.
void check_reach(size_t storage_bytes, int64_t itemsize, IntSpan sizes, IntSpan strides, int64_t offset);

}  // namespace tl

// Tensors of the sparse layouts. Such a tensor has sizes but no memory of its own; its parts hang in a slot.
#pragma once

#include "tensor/tensor.h"
#include "tl/sparse_gradient.h"

namespace tl {

struct SparseParts {
  // COO: int64, contiguous: a column an element, a row for each of the leading dimensions. Of the compressed
  // layouts the plain indices: the columns of rows, or the rows of columns, after the batch's dimensions.
  Tensor indices;
  // COO: the number of the element first, then the dense dimensions. Compressed: the batch's dimensions, the
  // number of the element, the two of a block, then the dense ones.
  Tensor values;
  bool coalesced = false;  // COO: no place twice, and in order
  Tensor compressed = {};  // of the compressed layouts: where each row, or column, begins

  bool is_compressed() const { return static_cast<bool>(compressed); }
  int64_t count() const { return indices.size(indices.dim() - 1); }
  int64_t sparse_dim() const { return is_compressed() ? 2 : indices.size(0); }
  int64_t batch_dim() const { return is_compressed() ? compressed.dim() - 1 : 0; }
};

inline bool is_blocked(Layout layout) { return layout == Layout::SparseBsr || layout == Layout::SparseBsc; }
// Whether the compressed indices are those of rows.
inline bool is_by_rows(Layout layout) { return layout == Layout::SparseCsr || layout == Layout::SparseBsr; }
inline bool is_compressed(const Tensor& t) { return t.is_sparse() && t.layout() != Layout::SparseCoo; }
const char* layout_name(Layout layout);  // "SparseCsr", as errors have it

Tensor sparse_tensor(IntSpan sizes, SparseParts parts, Layout layout = Layout::SparseCoo);
const SparseParts& parts_of(const TensorImpl& t);
void set_parts(TensorImpl& t, SparseParts parts);
// Whether the gradient of a sparse tensor is read beyond the elements that it stores.
bool has_dense_gradient(const Tensor& t);
// A tensor made of its values, beyond which no gradient is read.
Tensor of_values(Tensor made);
// The result, whose gradient is that of `source`: read where elements are stored, if it is of the source.
Tensor with_gradient_of(Tensor result, const Tensor& source);
// Gives the tensor another one's parts and sizes; the layouts are alike.
void set_sparse(TensorImpl& t, IntSpan sizes, SparseParts parts);

}  // namespace tl

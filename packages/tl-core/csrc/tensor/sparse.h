// Tensors of the layout sparse_coo. Such a tensor has sizes but no memory of its own; its parts hang in a
// slot.
#pragma once

#include "tensor/tensor.h"

namespace tl {

struct SparseParts {
  Tensor indices;  // int64, contiguous: a column an element, a row for each of the leading dimensions
  Tensor values;   // contiguous: the number of the element first, then the other dimensions
  bool coalesced;  // no place twice, and in order

  int64_t count() const { return indices.size(1); }
  int64_t sparse_dim() const { return indices.size(0); }
};

Tensor sparse_tensor(IntSpan sizes, SparseParts parts);
const SparseParts& parts_of(const TensorImpl& t);
void set_parts(TensorImpl& t, SparseParts parts);

}  // namespace tl

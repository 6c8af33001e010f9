#include "ops/reduction.h"

#include <algorithm>

#include "iter/loop_nest.h"

namespace tl {

DimVector reduced_shape(IntSpan sizes, uint64_t mask, bool keepdim) {
  DimVector out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!(mask >> d & 1))
      out.push_back(sizes[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

namespace {
// Dimensions innermost first, merged: every list of strides steps in one piece.
void merge(DimVector& sizes, std::initializer_list<DimVector*> strides) {
  size_t kept = 0;
  for (size_t d = 1; d < sizes.size(); ++d) {
    bool one_piece = sizes[kept] == 1 || sizes[d] == 1;
    if (!one_piece) {
      one_piece = true;
      for (DimVector* s : strides) one_piece &= (*s)[kept] * sizes[kept] == (*s)[d];
    }
    if (one_piece) {
      if (sizes[kept] == 1)
        for (DimVector* s : strides) (*s)[kept] = (*s)[d];
      sizes[kept] *= sizes[d];
    } else {
      ++kept;
      sizes[kept] = sizes[d];
      for (DimVector* s : strides) (*s)[kept] = (*s)[d];
    }
  }
  if (sizes.empty()) return;
  sizes.resize(kept + 1);
  for (DimVector* s : strides) s->resize(kept + 1);
}

void reorder(DimVector& v, const DimVector& order) {
  DimVector out(v.size());
  for (size_t i = 0; i < order.size(); ++i) out[i] = v[order[i]];
  v = out;
}
}  // namespace

ReduceGeometry::ReduceGeometry(const Tensor& in, uint64_t mask, const Tensor& out, const Tensor* second,
                               bool keepdim, bool ordered) {
  const Tensor& shaped = out ? out : *second;
  int64_t at = shaped.dim() - 1;
  for (int64_t d = in.dim() - 1; d >= 0; --d) {
    if (mask >> d & 1) {
      reduced_sizes_.push_back(in.size(d));
      reduced_strides_.push_back(in.byte_stride(d));
      at -= keepdim;
    } else {
      kept_sizes_.push_back(in.size(d));
      kept_strides_.push_back(in.byte_stride(d));
      out_strides_.push_back(out ? out.byte_stride(at) : 0);
      second_strides_.push_back(second ? second->byte_stride(at) : 0);
      --at;
    }
  }
  // No elements are none, however many rows of none they would be.
  if (std::ranges::count(reduced_sizes_, 0)) std::ranges::fill(reduced_sizes_, 0);
  if (kept_sizes_.size() > 1) {
    const DimVector order = iteration_order(kept_sizes_, &kept_strides_, 1);
    for (DimVector* v : {&kept_sizes_, &kept_strides_, &out_strides_, &second_strides_}) reorder(*v, order);
  }
  if (!ordered && reduced_sizes_.size() > 1) {
    const DimVector order = iteration_order(reduced_sizes_, &reduced_strides_, 1);
    reorder(reduced_sizes_, order);
    reorder(reduced_strides_, order);
  }
  merge(kept_sizes_, {&kept_strides_, &out_strides_, &second_strides_});
  merge(reduced_sizes_, {&reduced_strides_});
}

cpu::ReduceShape ReduceGeometry::shape() const {
  return {static_cast<int>(kept_sizes_.size()),
          static_cast<int>(reduced_sizes_.size()),
          kept_sizes_.data(),
          out_strides_.data(),
          second_strides_.data(),
          kept_strides_.data(),
          reduced_sizes_.data(),
          reduced_strides_.data()};
}

}  // namespace tl

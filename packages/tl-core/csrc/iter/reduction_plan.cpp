// The plan of a reduction: dimensions split by the mask, ordered by the input's strides, merged.
#include "iter/reduction_plan.h"

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
  size_t last = 0;
  for (size_t d = 1; d < sizes.size(); ++d) {
    bool one_piece = sizes[last] == 1 || sizes[d] == 1;
    if (!one_piece) {
      one_piece = true;
      for (DimVector* s : strides) one_piece &= (*s)[last] * sizes[last] == (*s)[d];
    }
    if (one_piece) {
      if (sizes[last] == 1)
        for (DimVector* s : strides) (*s)[last] = (*s)[d];
      sizes[last] *= sizes[d];
    } else {
      ++last;
      sizes[last] = sizes[d];
      for (DimVector* s : strides) (*s)[last] = (*s)[d];
    }
  }
  if (sizes.empty()) return;
  sizes.resize(last + 1);
  for (DimVector* s : strides) s->resize(last + 1);
}

void reorder(DimVector& v, const DimVector& order) {
  DimVector out(v.size());
  for (size_t i = 0; i < order.size(); ++i) out[i] = v[order[i]];
  v = out;
}
}  // namespace

ReductionPlan::ReductionPlan(const Tensor& in, uint64_t mask, const Tensor& out, const Tensor* second,
                             bool keepdim, bool ordered) {
  split(in, mask, out, second, keepdim);
  order(ordered);
  merge(retained_sizes, {&retained_strides, &out_strides, &second_strides});
  merge(reduced_sizes, {&reduced_strides});
}

void ReductionPlan::split(const Tensor& in, uint64_t mask, const Tensor& out, const Tensor* second,
                          bool keepdim) {
  const Tensor& shaped = out ? out : *second;
  int64_t out_dim = shaped.dim() - 1;
  for (int64_t d = in.dim() - 1; d >= 0; --d) {
    if (mask >> d & 1) {
      reduced_sizes.push_back(in.size(d));
      reduced_strides.push_back(in.byte_stride(d));
      out_dim -= keepdim;
    } else {
      retained_sizes.push_back(in.size(d));
      retained_strides.push_back(in.byte_stride(d));
      out_strides.push_back(out ? out.byte_stride(out_dim) : 0);
      second_strides.push_back(second ? second->byte_stride(out_dim) : 0);
      --out_dim;
    }
  }
  // An empty reduction has no elements at all: one dimension of size 0 must not merge into a size above 0.
  if (std::ranges::count(reduced_sizes, 0)) std::ranges::fill(reduced_sizes, 0);
}

void ReductionPlan::order(bool ordered) {
  if (retained_sizes.size() > 1) {
    const DimVector order = iteration_order(retained_sizes, &retained_strides, 1);
    for (DimVector* v : {&retained_sizes, &retained_strides, &out_strides, &second_strides})
      reorder(*v, order);
  }
  if (!ordered && reduced_sizes.size() > 1) {
    const DimVector order = iteration_order(reduced_sizes, &reduced_strides, 1);
    reorder(reduced_sizes, order);
    reorder(reduced_strides, order);
  }
}

}  // namespace tl

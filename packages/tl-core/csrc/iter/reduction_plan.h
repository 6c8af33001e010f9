// The plan of a reduction: retained and reduced dimensions, ordered by memory and merged.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// The sizes that remain when the dimensions of `mask` are reduced: left out, or 1 with `keepdim`.
DimVector reduced_shape(IntSpan sizes, uint64_t mask, bool keepdim);

// Retained and reduced dimensions apart, innermost first, merged where they lie in one piece. Strides in
// bytes.
struct ReductionPlan {
  // `out` (may be undefined) and `second` (may be NULL) have the reduced shape.
  // `ordered`: the reduced dimensions stay in the order that counts their elements, as an index does.
  ReductionPlan(const Tensor& in, uint64_t mask, const Tensor& out, const Tensor* second, bool keepdim,
                bool ordered);

  DimVector retained_sizes, retained_strides, out_strides, second_strides, reduced_sizes, reduced_strides;

 private:
  void split(const Tensor& in, uint64_t mask, const Tensor& out, const Tensor* second, bool keepdim);
  void order(bool ordered);
};

}  // namespace tl

// A reduction over some dimensions: the output's shape, and the geometry a kernel runs over.
#pragma once

#include <optional>

#include "kernels/cpu/reduce/reduce.h"
#include "tensor/tensor.h"

namespace tl {

DimVector reduced_shape(IntSpan sizes, uint64_t mask, bool keepdim);

// Kept and reduced dimensions apart, innermost first, merged where they lie in one piece.
class ReduceGeometry {
 public:
  // `out` and `second` (may be NULL) have the reduced shape with or without the kept ones.
  // `ordered`: the reduced dimensions stay in the order that counts their elements.
  ReduceGeometry(const Tensor& in, uint64_t mask, const Tensor& out, const Tensor* second, bool keepdim,
                 bool ordered);
  cpu::ReduceShape shape() const;

 private:
  DimVector kept_sizes_, out_strides_, second_strides_, kept_strides_, reduced_sizes_, reduced_strides_;
};

}  // namespace tl

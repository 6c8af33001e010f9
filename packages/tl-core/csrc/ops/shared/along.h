// Geometry of an operation along one dim: sizes and byte strides for the kernels' AlongShape.
#pragma once

#include <initializer_list>

#include "kernels/cpu/loops/along_dim.h"
#include "tensor/tensor.h"

namespace tl {

class AlongGeometry {
 public:
  // The operands may differ in size along `dim` only; `n` is what the operation runs over. A tensor without
  // dimensions is one element.
  AlongGeometry(int64_t dim, int64_t n, std::initializer_list<const Tensor*> operands);
  cpu::AlongShape shape() const;

 private:
  int64_t n_;
  int operands_ = 0;
  int64_t along_[cpu::kAlongOperands] = {};
  DimVector sizes_;  // of the other dimensions, innermost first
  DimVector strides_[cpu::kAlongOperands];
};

}  // namespace tl

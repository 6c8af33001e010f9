// A reduction's plan in the form that the CPU kernels take.
#pragma once

#include <optional>

#include "dispatch/operator.h"
#include "iter/reduction_plan.h"
#include "kernels/cpu/reduce/reduce.h"

namespace tl {

// The dtype of a sum, product or scan: the one asked for, that of out=, or sum_type of the input.
DType sum_dtype(const Tensor& self, std::optional<DType> dtype, Out out);

class ReduceGeometry {
 public:
  // As ReductionPlan.
  ReduceGeometry(const Tensor& in, uint64_t mask, const Tensor& out, const Tensor* second, bool keepdim,
                 bool ordered)
      : plan_(in, mask, out, second, keepdim, ordered) {}

  // Points into this object.
  cpu::ReduceShape shape() const;

 private:
  ReductionPlan plan_;
};

}  // namespace tl

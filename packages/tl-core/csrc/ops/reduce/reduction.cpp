// Result dtypes of sums, and a reduction's plan in the form of the CPU kernels.
#include "ops/reduce/reduction.h"

#include "iter/dtypes.h"

namespace tl {

DType sum_dtype(const Tensor& self, std::optional<DType> dtype, Out out) {
  if (dtype) return *dtype;
  return out ? out.tensor->dtype() : sum_type(self.dtype());
}

cpu::ReduceShape ReduceGeometry::shape() const {
  return {static_cast<int>(plan_.retained_sizes.size()),
          static_cast<int>(plan_.reduced_sizes.size()),
          plan_.retained_sizes.data(),
          plan_.out_strides.data(),
          plan_.second_strides.data(),
          plan_.retained_strides.data(),
          plan_.reduced_sizes.data(),
          plan_.reduced_strides.data()};
}

}  // namespace tl

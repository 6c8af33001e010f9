// The plan of an elementwise operator: broadcast shape, common device and the output's memory layout.
#pragma once

#include "tensor/tensor.h"

namespace tl {

class ElementwisePlan {
 public:
  static constexpr int kMaxInputs = 3;

 protected:
  // Broadcasts with the operands before; raises where shapes or devices don't agree. The tensor must outlive
  // the plan.
  void add_operand(const Tensor& t, const char* op);

  // The layout the operands agree on, in elements: PyTorch's rule, which keeps channels_last and transposed
  // layouts.
  DimVector output_strides() const;

  DimVector shape_;
  Device device_;

 private:
  void join_device(const Tensor& t, const char* op);
  DimVector broadcast_strides(const Tensor& t) const;
  bool have_one_layout() const;

  const Tensor* operands_[kMaxInputs] = {};
  int n_operands_ = 0;
  bool has_device_ = false, device_is_weak_ = false;
};

}  // namespace tl

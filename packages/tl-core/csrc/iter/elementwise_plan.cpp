// Broadcasting of shapes, agreement of devices, and the stride order of a fresh output.
#include "iter/elementwise_plan.h"

#include <algorithm>

#include "base/error.h"
#include "iter/loop_nest.h"
#include "tensor/geometry.h"

namespace tl {

void ElementwisePlan::add_operand(const Tensor& t, const char* op) {
  join_device(t, op);
  shape_ = n_operands_ ? broadcast_shapes(shape_, t.sizes()) : DimVector(t.sizes());
  operands_[n_operands_++] = &t;
}

// A tensor without dimensions on the CPU may join any device, as a scalar would.
void ElementwisePlan::join_device(const Tensor& t, const char* op) {
  if (t.device().is_cpu() && t.dim() == 0 && has_device_) return;
  if (!has_device_ || (device_.is_cpu() && device_is_weak_)) {
    device_ = t.device();
    device_is_weak_ = t.device().is_cpu() && t.dim() == 0;
    has_device_ = true;
    return;
  }
  TL_CHECK(t.device() == device_, Runtime,
           "Expected all tensors to be on the same device, but found at least two devices, ",
           device_name(device_), " and ", device_name(t.device()), "! (", op, ")");
}

DimVector ElementwisePlan::broadcast_strides(const Tensor& t) const {
  DimVector strides(shape_.size());
  const size_t missing = shape_.size() - static_cast<size_t>(t.dim());
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) != 1 || shape_[missing + d] == 1) strides[missing + d] = t.byte_stride(d);
  return strides;
}

DimVector ElementwisePlan::output_strides() const {
  const auto is_dense_whole = [&](const Tensor* t) {
    return t->is_contiguous() && std::ranges::equal(t->sizes(), shape_);
  };
  const auto end = operands_ + n_operands_;
  if (std::all_of(operands_, end, is_dense_whole)) return contiguous_strides(shape_);
  if (have_one_layout()) return DimVector(operands_[0]->strides());
  DimVector strides[kMaxInputs];
  for (int i = 0; i < n_operands_; ++i) strides[i] = broadcast_strides(*operands_[i]);
  const DimVector order = iteration_order(shape_, strides, n_operands_);
  DimVector out(shape_.size());
  int64_t step = 1;
  for (int64_t d : order) {
    out[d] = step;
    step *= std::max<int64_t>(shape_[d], 1);
  }
  return out;
}

bool ElementwisePlan::have_one_layout() const {
  const Tensor& first = *operands_[0];
  const auto has_layout = [&](const Tensor* t) {
    return std::ranges::equal(t->sizes(), shape_) && std::ranges::equal(t->strides(), first.strides());
  };
  return std::all_of(operands_, operands_ + n_operands_, has_layout) &&
         is_dense(first.sizes(), first.strides());
}

}  // namespace tl

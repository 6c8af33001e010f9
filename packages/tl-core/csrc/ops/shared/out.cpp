// Outputs given with out=: checks of dtype and device, resizing with PyTorch's warning, copies.
#include "ops/shared/out.h"

#include <algorithm>

#include "dispatch/out_overlap.h"
#include "ops.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

void check_out_dtype(Out out, DType dtype, const char* where) {
  TL_CHECK(!out || out.tensor->dtype() == dtype, Runtime, where, "Expected out tensor to have dtype ",
           dtype_name(dtype), ", but got ", dtype_name(out.tensor->dtype()), " instead");
}

Tensor prepare_out(Out out, IntSpan sizes, TensorOptions options, IntSpan strides) {
  if (!out) return empty(sizes, options);
  const Tensor& t = *out;
  TL_CHECK(t.device() == options.device, Runtime, "Expected out tensor to be on the device ",
           device_name(options.device), ", but got ", device_name(t.device()));
  check_no_internal_overlap(t);
  if (!std::ranges::equal(t.sizes(), sizes)) {
    TL_CHECK(!AliasedOuts::has(t), Runtime, "unsupported operation: argument 'out' of shape ", t.sizes(),
             " is also an input, so that it cannot be resized to the result's shape ", sizes);
    TL_CHECK(!out.is_first_input, Runtime, "Bad in-place call: input tensor size ", t.sizes(),
             " and output tensor size ", sizes, " should match");
    if (t.numel() != 0) warn_resized_out(t.sizes(), sizes);
    strides.empty() ? resize(t, sizes) : resize(t, sizes, strides);
  }
  return t;
}

Tensor isolate(const Tensor& in, const Tensor& out) {
  return in.storage() && in.storage() == out.storage() ? ops::clone(in) : in;
}

Tensor copy_to_out(const Tensor& self, Out out) {
  if (!out) return ops::clone(self);
  if (out.tensor->same(self)) return self;
  check_out_dtype(out, self.dtype());
  return ops::copy_(prepare_out(out, self.sizes(), {self.dtype(), self.device()}), self);
}

Tensor copied_out(const Tensor& value, Out out) {
  if (!out) return value;
  check_castable(value.dtype(), *out);
  return ops::copy_(prepare_out(out, value.sizes(), {out.tensor->dtype(), value.device()}), value);
}

}  // namespace tl

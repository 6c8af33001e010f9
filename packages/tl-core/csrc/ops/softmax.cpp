// Softmax and its logarithm.
#include "dispatch/thread_state.h"
#include "iter/promotion.h"
#include "ops.h"
#include "ops/copy.h"
#include "ops/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
void check_inexact(const char* name, const Tensor& t) {
  TL_CHECK(is_floating(t.dtype()), NotImplemented, "\"", name, "_lastdim_kernel_impl\" not implemented for '",
           scalar_type_name(t.dtype()), "'");
}

// Halves compute in float, as all of a row meets in one sum.
Tensor in_float(const Tensor& t) { return is_half(t.dtype()) ? to_dtype(t, DType::Float32) : t; }

Tensor deliver(const Tensor& result, DType dtype, Out out) {
  if (!out) return to_dtype(result, dtype);
  return ops::copy_(prepare_out(out, result.sizes(), {out.tensor->dtype(), result.device()}), result);
}

Tensor shifted(const Tensor& t, const DimVector& dims) {
  return t.numel() == 0 ? t : ops::sub(t, ops::amax(t, dims, true));
}

Tensor softmax(const Tensor& self, int64_t dim, bool, Out out) {
  check_inexact("softmax", self);
  const DimVector dims{wrap_dim(dim, self.dim())};
  const Tensor e = ops::exp(shifted(in_float(self), dims));
  return deliver(ops::div_(e, ops::sum_dim_IntList(e, IntSpan(dims), true)), self.dtype(), out);
}

Tensor log_softmax(const Tensor& self, int64_t dim, bool, Out out) {
  check_inexact("log_softmax", self);
  const DimVector dims{wrap_dim(dim, self.dim())};
  const Tensor low = shifted(in_float(self), dims);
  const Tensor total = ops::log(ops::sum_dim_IntList(ops::exp(low), IntSpan(dims), true));
  return deliver(ops::sub(low, total), self.dtype(), out);
}

Tensor softmax_backward(const Tensor& g, const Tensor& output, int64_t dim, DType input_dtype, Out out) {
  const DimVector dims{dim};
  const Tensor o = in_float(output), weighted = ops::mul(in_float(g), o);
  return deliver(ops::sub(weighted, ops::mul(o, ops::sum_dim_IntList(weighted, IntSpan(dims), true))),
                 input_dtype, out);
}

Tensor log_softmax_backward(const Tensor& g, const Tensor& output, int64_t dim, DType input_dtype, Out out) {
  const DimVector dims{dim};
  const Tensor wide = in_float(g);
  const Tensor total = ops::sum_dim_IntList(wide, IntSpan(dims), true);
  return deliver(ops::sub(wide, ops::mul(ops::exp(in_float(output)), total)), input_dtype, out);
}

template <auto f>
Tensor in_dtype(const Tensor& self, int64_t dim, std::optional<DType> dtype, Out out) {
  const DType d = dtype.value_or(is_integral(self.dtype(), true) ? default_dtype() : self.dtype());
  const Tensor result = f(ops::to_dtype(self, d), dim, false);
  if (!out) return result;
  return ops::copy_(prepare_out(out, result.sizes(), {out.tensor->dtype(), result.device()}), result);
}
}  // namespace

TL_KERNEL(_softmax, softmax)
TL_KERNEL(_log_softmax, log_softmax)
TL_KERNEL(_softmax_backward_data, softmax_backward)
TL_KERNEL(_log_softmax_backward_data, log_softmax_backward)
TL_KERNEL(softmax_int, in_dtype<&ops::_softmax>)
TL_KERNEL(log_softmax_int, in_dtype<&ops::_log_softmax>)

}  // namespace tl

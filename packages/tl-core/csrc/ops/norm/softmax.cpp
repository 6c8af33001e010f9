// softmax, log_softmax and logsumexp, each shifted by the maximum against overflow.
#include "kernels/cpu/norm/softmax.h"

#include <limits>

#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/along.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
void check_inexact(const char* name, const Tensor& t) {
  TL_CHECK(is_floating(t.dtype()), NotImplemented, "\"", name, "_lastdim_kernel_impl\" not implemented for '",
           scalar_type_name(t.dtype()), "'");
}

// `compute` writes a dense tensor of that type; an out= of another type or layout gets a copy of it.
template <class F>
Tensor write_result(IntSpan sizes, TensorOptions options, Out out, F compute) {
  const Tensor target = prepare_out(out, sizes, {out ? out.tensor->dtype() : options.dtype, options.device});
  if (target.is_meta() || target.numel() == 0) return target;
  const Tensor fresh = out ? empty(sizes, options) : target;
  compute(fresh);
  return out ? ops::copy_(target, fresh) : target;
}

template <bool log>
Tensor softmax(const Tensor& self, int64_t dim, bool, Out out) {
  check_inexact(log ? "log_softmax" : "softmax", self);
  const int64_t d = wrap_dim(dim, self.dim());
  return write_result(self.sizes(), {self.dtype(), self.device()}, out, [&](const Tensor& result) {
    const AlongGeometry geometry(d, self.dim() ? self.size(d) : 1, {&result, &self});
    cpu::softmax(log, self.dtype(), geometry.shape(), result.ptr<char>(), self.ptr<char>());
  });
}

template <bool log>
Tensor softmax_backward(const Tensor& g, const Tensor& output, int64_t dim, DType input_dtype, Out out) {
  check_inexact(log ? "log_softmax_backward" : "softmax_backward", output);
  TL_CHECK(g.sizes().size() == output.sizes().size() && std::ranges::equal(g.sizes(), output.sizes()),
           Runtime, "expected the gradient to have the result's shape ", output.sizes(), ", got ", g.sizes());
  const int64_t d = wrap_dim(dim, output.dim());
  const Tensor grad = to_dtype(g, output.dtype());
  const auto compute = [&](const Tensor& result) {
    const AlongGeometry geometry(d, output.dim() ? output.size(d) : 1, {&result, &grad, &output});
    cpu::softmax_backward(log, output.dtype(), geometry.shape(), result.ptr<char>(), grad.ptr<char>(),
                          output.ptr<char>());
  };
  const TensorOptions options{output.dtype(), output.device()};
  if (out || input_dtype == output.dtype()) return write_result(output.sizes(), options, out, compute);
  return to_dtype(write_result(output.sizes(), options, {}, compute), input_dtype);
}

template <auto f>
Tensor in_dtype(const Tensor& self, int64_t dim, std::optional<DType> dtype, Out out) {
  const Tensor result = f(ops::to_dtype(self, dtype.value_or(self.dtype())), dim, false);
  if (!out) return result;
  return ops::copy_(prepare_out(out, result.sizes(), {out.tensor->dtype(), result.device()}), result);
}

// log sum e^x = max + log sum e^(x - max); an infinite maximum is not subtracted, as inf - inf is NaN.
Tensor logsumexp(const Tensor& self, IntSpan dim, bool keepdim, Out out) {
  const DType type = is_integral(self.dtype(), true) ? default_dtype() : self.dtype();
  const Tensor x = to_dtype(self, type);
  Tensor result;
  if (x.numel() == 0) {
    result = ops::log(ops::sum_dim_IntList(ops::exp(x), dim, keepdim));
  } else {
    const Tensor maximum = ops::amax(ops::real(x), dim, true);
    const Tensor shift = ops::where_self(
        ops::eq(ops::abs(maximum), Scalar(std::numeric_limits<double>::infinity())), Scalar(0.0), maximum);
    const Tensor total = ops::log(ops::sum_dim_IntList(ops::exp(ops::sub(x, shift)), dim, true));
    result = ops::add(total, shift);
    if (!keepdim)
      result = ops::reshape(
          result,
          ops::sum_dim_IntList(empty(x.sizes(), {type, Device{DeviceType::Meta, -1}}), dim, false).sizes());
  }
  if (!out) return result;
  check_castable(type, *out);
  return ops::copy_(prepare_out(out, result.sizes(), {out.tensor->dtype(), result.device()}), result);
}

Tensor logsumexp_backward(const Tensor& g, const Tensor& self, const Tensor& result, IntSpan dim,
                          bool keepdim) {
  const Tensor spread = ops::unsum(g, self.sizes(), dim, keepdim);
  return ops::mul(spread,
                  ops::conj(ops::exp(ops::sub(self, ops::unsum(result, self.sizes(), dim, keepdim)))));
}
}  // namespace

TL_KERNEL(_softmax, softmax<false>)
TL_KERNEL(_log_softmax, softmax<true>)
TL_KERNEL(_softmax_backward_data, softmax_backward<false>)
TL_KERNEL(_log_softmax_backward_data, softmax_backward<true>)
TL_KERNEL(softmax_int, in_dtype<&ops::_softmax>)
TL_KERNEL(log_softmax_int, in_dtype<&ops::_log_softmax>)
TL_KERNEL(logsumexp, logsumexp)
TL_KERNEL(logsumexp_backward, logsumexp_backward)

}  // namespace tl

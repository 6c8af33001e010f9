// Activation functions that choose a loop or reshape a weight, and second derivatives.
#include <cstdio>

#include "base/float_range.h"
#include "elementwise_defs.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// ---- exponential units ------------------------------------------------------------------------------------
Tensor elu(const Tensor& self, double alpha, double scale, double input_scale, Out out) {
  return elementwise(kElementwise_elu_elu, out, self, Scalar(alpha), Scalar(scale), Scalar(input_scale));
}
Tensor celu(const Tensor& self, const Scalar& alpha, Out out) {
  alpha.check_fits(DType::Float64);
  const double a = alpha.to_double();
  TL_CHECK(a != 0, Runtime, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu(self, a, 1, 1 / a, out);
}
Tensor selu(const Tensor& self, Out out) {
  return elu(self, 1.6732632423543772848, 1.0507009873554804934, 1, out);
}

Tensor elu_backward(const Tensor& g, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                    bool is_result, const Tensor& self_or_result) {
  TL_CHECK(!is_result || alpha.to_double() >= 0, Runtime,
           "In-place elu backward calculation is triggered with a negative slope which is not supported. "
           "This is caused by calling in-place forward function with a negative slope, "
           "please call out-of-place version instead.");
  return elementwise(kElementwise_elu_backward__elu_backward, {}, g, self_or_result, alpha, scale,
                     input_scale, Scalar(int64_t{is_result}));
}

// Where the unit bends: alpha scale input_scale^2 exp(input_scale x), of which the result tells all but a
// factor.
Tensor elu_double_backward(const Tensor& g, const Scalar& alpha, const Scalar& scale,
                           const Scalar& input_scale, bool is_result, const Tensor& self_or_result) {
  const double s = input_scale.to_double(), steepest = alpha.to_double() * scale.to_double();
  const Tensor below = ops::le(self_or_result, Scalar(0));
  if (is_result) return ops::where_self(below, ops::mul(g, Scalar(s)), Scalar(0.0));
  const Tensor bent = ops::exp(ops::mul(ops::clamp_max(self_or_result, Scalar(0)), Scalar(s)));
  return ops::where_self(below, ops::mul(g, ops::mul(bent, Scalar(steepest * s * s))), Scalar(0.0));
}

Tensor leaky_relu_backward(const Tensor& g, const Tensor& self, const Scalar& negative_slope,
                           bool self_is_result) {
  TL_CHECK(
      !self_is_result || negative_slope.to_double() >= 0, Runtime,
      "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. "
      "This is caused by calling in-place forward function with a negative slope, "
      "please call out-of-place version instead. File an issue if you do require supporting in-place "
      "leakRelu backward calculation with negative slope");
  return ops::_leaky_relu_backward(g, self, negative_slope);
}

Tensor softshrink(const Tensor& self, const Scalar& lambd, Out out) {
  const double number = lambd.to_double(), most = largest(self.dtype());
  char range[32], found[32];
  std::snprintf(range, sizeof range, "[0, %g]", most);
  std::snprintf(found, sizeof found, "%g", number);
  TL_CHECK(number >= 0 && number <= most, Runtime, "lambda must be in range ", range, " for input dtype ",
           scalar_type_name(self.dtype()), ", but found ", found);
  return elementwise(kElementwise_softshrink__softshrink, out, self, lambd);
}

// ---- gates ------------------------------------------------------------------------------------------------
Tensor less_from_one(const Tensor& t) { return ops::sub(Scalar(1), t); }

// s (1 - s) (2 + x (1 - 2s)) with s the sigmoid of x.
Tensor silu_double_backward(const Tensor& g, const Tensor& self) {
  const Tensor s = ops::sigmoid(self);
  const Tensor curve = ops::add(ops::mul(self, ops::sub(Scalar(1), s, Scalar(2))), Scalar(2));
  return ops::mul(g, ops::conj_physical(ops::mul(ops::mul(s, less_from_one(s)), curve)));
}
// (1 - t^2) s (2 + x (1 - s - 2ts)) with t = tanh(softplus(x)).
Tensor mish_double_backward(const Tensor& g, const Tensor& self) {
  const Tensor s = ops::sigmoid(self), t = ops::tanh(ops::softplus(self));
  const Tensor inner = ops::sub(less_from_one(s), ops::mul(t, s), Scalar(2));
  const Tensor curve = ops::add(ops::mul(self, inner), Scalar(2));
  return ops::mul(g, ops::mul(ops::mul(less_from_one(ops::square(t)), s), curve));
}

bool by_tanh(std::string_view approximate) {
  TL_CHECK(approximate == "none" || approximate == "tanh", Runtime,
           "approximate argument must be either none or tanh, got ", approximate);
  return approximate == "tanh";
}
Tensor gelu(const Tensor& self, std::string_view approximate, Out out) {
  return elementwise(by_tanh(approximate) ? kElementwise_gelu_tanh__gelu_tanh : kElementwise_gelu__gelu, out,
                     self);
}
Tensor gelu_backward(const Tensor& g, const Tensor& self, std::string_view approximate) {
  return elementwise(by_tanh(approximate) ? kElementwise_gelu_tanh_backward__gelu_tanh_backward
                                          : kElementwise_gelu_backward__gelu_backward,
                     {}, g, self);
}

// The density times (2 - x^2); by tanh, the second derivative of x (1 + tanh(u(x))) / 2.
Tensor gelu_double_backward(const Tensor& g, const Tensor& self, std::string_view approximate) {
  const Tensor square = ops::square(self);
  if (!by_tanh(approximate)) {
    const Tensor density = ops::mul(ops::exp(ops::mul(square, Scalar(-0.5))), Scalar(0.39894228040143267794));
    return ops::mul(g, ops::mul(density, ops::sub(Scalar(2), square)));
  }
  constexpr double kRoot = 0.79788456080286535588, kCube = 0.044715;
  const Tensor u =
      ops::mul(ops::mul(self, ops::add(ops::mul(square, Scalar(kCube)), Scalar(1))), Scalar(kRoot));
  const Tensor derivative = ops::mul(ops::add(ops::mul(square, Scalar(3 * kCube)), Scalar(1)), Scalar(kRoot));
  const Tensor t = ops::tanh(u), flat = less_from_one(ops::square(t));
  const Tensor turning =
      ops::sub(ops::mul(self, Scalar(6 * kRoot * kCube)), ops::mul(t, ops::square(derivative)), Scalar(2));
  const Tensor curve = ops::add(derivative, ops::mul(ops::mul(self, turning), Scalar(0.5)));
  return ops::mul(g, ops::mul(flat, curve));
}

Tensor glu(const Tensor& self, int64_t dim, Out out) {
  TL_CHECK(self.dim() > 0, Runtime, "glu does not support scalars because halving size must be even");
  const int64_t d = wrap_dim(dim, self.dim()), half = self.size(d) / 2;
  TL_CHECK(self.size(d) % 2 == 0, Runtime, "Halving dimension must be even, but dimension ", d, " is size ",
           self.size(d));
  const Tensor source = out ? isolate(self, *out) : self;
  const Tensor passed = ops::narrow(source, d, int64_t{0}, half), gate = ops::narrow(source, d, half, half);
  return out ? ops::_glu_halves_out(passed, gate, *out) : ops::_glu_halves(passed, gate);
}

// ---- learned and random factors below zero ----------------------------------------------------------------
Tensor prelu(const Tensor& self, const Tensor& weight) {
  TL_CHECK(self.dtype() == weight.dtype(), Runtime, "prelu: Type promoting not supported. Got ",
           scalar_type_name(self.dtype()), " and ", scalar_type_name(weight.dtype()));
  TL_CHECK(weight.dim() <= 1, Runtime,
           "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  if (weight.numel() == 1) return ops::_prelu_kernel(self, ops::reshape(weight, IntSpan()));
  TL_CHECK(self.dim() > 0, Runtime, "Not allow zero-dim input tensor.");
  const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  TL_CHECK(weight.numel() == channels, Runtime,
           "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
           " and channel size = ", channels, ".");
  DimVector shape(static_cast<size_t>(self.dim() - 1), 1);
  if (!shape.empty()) shape[0] = channels;
  return ops::_prelu_kernel(self, ops::reshape(weight, shape));
}

// The factors are drawn one after the other for the elements that are not positive.
Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
             Generator* generator, Out out) {
  const double low = lower.to_double(), high = upper.to_double();
  TL_CHECK(low <= high, Runtime, "Lower bound should be less than or equal to the upper bound");
  if (!training)
    return out ? ops::leaky_relu_(self, Scalar((low + high) / 2))
               : ops::leaky_relu(self, Scalar((low + high) / 2));
  const Tensor scaled = ops::le(self, Scalar(0));
  if (!has_known_values(self)) {
    const Tensor all = ops::uniform_(ops::empty_like(self), low, high, generator);
    const Tensor chosen = ops::where_self(scaled, all, ops::ones_like(self));
    return out ? ops::mul_(self, chosen) : ops::mul(ops::contiguous(self), chosen);
  }
  const int64_t n = ops::_local_scalar_dense(ops::sum(scaled)).to_int();
  const Tensor drawn =
      ops::empty_memory_format(IntSpan(&n, 1), {.dtype = DType::Float64, .device = self.device()});
  ops::uniform_(drawn, low, high, generator);
  const Tensor factors = ops::ones_like(self);
  const Tensor index[] = {ops::unsqueeze(scaled, 0)};  // a dimension in front: of a scalar too
  ops::index_put_(ops::unsqueeze(factors, 0), TensorList(index), to_dtype(drawn, self.dtype()));
  return out ? ops::mul_(self, factors) : ops::mul(ops::contiguous(self), factors);
}
}  // namespace

TL_KERNEL(rrelu, rrelu)
TL_KERNEL(celu, celu)
TL_KERNEL(selu, selu)
TL_KERNEL(softshrink, softshrink)
TL_KERNEL(elu_backward, elu_backward)
TL_KERNEL(elu_double_backward, elu_double_backward)
TL_KERNEL(leaky_relu_backward, leaky_relu_backward)
TL_KERNEL(silu_double_backward, silu_double_backward)
TL_KERNEL(mish_double_backward, mish_double_backward)
TL_KERNEL(gelu, gelu)
TL_KERNEL(gelu_backward, gelu_backward)
TL_KERNEL(gelu_double_backward, gelu_double_backward)
TL_KERNEL(glu, glu)
TL_KERNEL(prelu, prelu)

}  // namespace tl

// Special functions that take more than one loop, and the parts of complex and floating-point numbers.
#include <array>
#include <limits>

#include "elementwise_defs.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/out.h"

namespace tl {

namespace {
constexpr double kPi = 3.14159265358979323846;

// ---- gamma ------------------------------------------------------------------------------------------------
Tensor polygamma(int64_t n, const Tensor& self, Out out) {
  TL_CHECK(n >= 0, Runtime, "polygamma(n, x) does not support negative n.");
  return elementwise(kElementwise_polygamma__polygamma, out, self, Scalar(n));
}

// The sum of lgamma at x, x - 1/2, ... x - (p-1)/2, and a constant.
Tensor mvlgamma(const Tensor& self, int64_t p, Out out) {
  TL_CHECK(p >= 1, Runtime, "p has to be greater than or equal to 1");
  const Tensor wide = is_integral(self.dtype(), true) ? ops::mul(self, Scalar(1.0)) : self;
  const double size = static_cast<double>(p);
  const Tensor steps = ops::arange(Scalar(p), {.dtype = wide.dtype(), .device = wide.device()});
  const Tensor each = ops::lgamma(ops::sub(ops::unsqueeze(wide, -1), ops::mul(steps, Scalar(0.5))));
  const Tensor sum = ops::sum_dim_IntList(each, DimVector{-1}, false);
  const Scalar constant(size * (size - 1) / 4 * 1.1447298858494001741434);  // log(pi)
  return copied_out(ops::add(sum, constant), out);
}

// ---- parts of derivatives ---------------------------------------------------------------------------------
Tensor without_zero(const Tensor& t, const Tensor& zero) { return ops::where_self(zero, Scalar(1.0), t); }

Tensor sinc_backward(const Tensor& g, const Tensor& self) {
  const Tensor zero = ops::eq(self, Scalar(0));
  const Tensor angle = ops::mul(without_zero(self, zero), Scalar(kPi));
  const Tensor derivative =
      ops::div(ops::sub(ops::cos(angle), ops::div(ops::sin(angle), angle)), ops::div(angle, Scalar(kPi)));
  return ops::where_self(zero, Scalar(0.0), ops::mul(g, ops::conj_physical(derivative)));
}

Tensor logit_backward(const Tensor& g, const Tensor& self, std::optional<double> eps) {
  const double low = eps.value_or(0.0), high = 1 - low;
  const Tensor inside = ops::logical_and(ops::ge(self, Scalar(low)), ops::le(self, Scalar(high)));
  const Tensor derivative = ops::mul(self, ops::sub(Scalar(1), self));
  const Scalar outside(eps ? 0.0 : std::numeric_limits<double>::quiet_NaN());
  return ops::where_self(inside, ops::div(g, derivative), outside);
}

Tensor i1_over(const Tensor& self, const Tensor& result) {
  const Tensor zero = ops::eq(self, Scalar(0));
  return ops::where_self(zero, Scalar(0.5), ops::div(result, without_zero(self, zero)));
}

Tensor derivative_not_implemented(const Tensor&, std::string_view what) {
  TL_CHECK(false, NotImplemented, "the derivative for '", what, "' is not implemented.");
}

// i z / |z|^2 is the direction in which the angle grows.
Tensor angle_backward(const Tensor& g, const Tensor& self) {
  if (!is_complex(self.dtype())) return ops::zeros_like(g);
  const Tensor zero = ops::eq(self, Scalar(0));
  const Tensor around =
      ops::div(ops::mul(self, Scalar(Complex128{0, 1})), ops::mul(self, ops::conj_physical(self)));
  return ops::where_self(zero, Scalar(0.0), ops::mul(g, around));
}

Tensor logit(const Tensor& self, std::optional<double> eps, Out out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return elementwise(kElementwise_logit__logit, out, self, Scalar(eps ? *eps : -infinity),
                     Scalar(eps ? 1 - *eps : infinity));
}

// ---- floating-point numbers -------------------------------------------------------------------------------
std::tuple<Tensor, Tensor> frexp(const Tensor& self, Out mantissa, Out exponent) {
  TL_CHECK(is_floating(self.dtype()), Runtime, "torch.frexp() only supports floating-point dtypes");
  if (exponent) {
    TL_CHECK(mantissa.tensor->dtype() == self.dtype(), Runtime,
             "torch.frexp() expects mantissa to have dtype ", scalar_type_name(self.dtype()), " but got ",
             scalar_type_name(mantissa.tensor->dtype()));
    TL_CHECK(exponent.tensor->dtype() == DType::Int32, Runtime,
             "torch.frexp() expects exponent to have int dtype but got ",
             scalar_type_name(exponent.tensor->dtype()));
  }
  const Tensor power = ops::_to_copy(elementwise(kElementwise_frexp_exponent__frexp_exponent, {}, self),
                                     {.dtype = DType::Int32});
  const Tensor part = elementwise(kElementwise_frexp_mantissa__frexp_mantissa, mantissa, self);
  if (!exponent) return {part, power};
  return {part, ops::copy_(prepare_out(exponent, self.sizes(), {DType::Int32, self.device()}), power)};
}

Tensor nextafter(const Tensor& self, const Tensor& other, Out out) {
  if (self.dtype() != other.dtype()) {
    const DType common = common_dtype(std::array{self, other});
    const Tensor next = ops::nextafter(to_dtype(self, common), to_dtype(other, common));
    return copied_out(next, out);
  }
  if (!is_half(self.dtype())) return elementwise(kElementwise_nextafter__nextafter, out, self, other);
  const Scalar infinity(int64_t{self.dtype() == DType::Float16 ? 0x7c00 : 0x7f80});
  const auto bits = [](const Tensor& t) { return ops::view_dtype(t, DType::Int16); };
  const Tensor next = ops::view_dtype(
      elementwise(kElementwise_nextafter_bits__nextafter_bits, {}, bits(self), bits(other), infinity),
      self.dtype());
  return out ? ops::copy_(prepare_out(out, next.sizes(), {self.dtype(), self.device()}), next) : next;
}

// ---- complex numbers --------------------------------------------------------------------------------------
template <bool polar>
Tensor complex_of(const Tensor& first, const Tensor& second, Out out) {
  const DType d = first.dtype();
  TL_CHECK(is_floating(d) && is_floating(second.dtype()), Runtime,
           "Expected both inputs to be Half, Float or Double tensors but got ", scalar_type_name(d), " and ",
           scalar_type_name(second.dtype()));
  TL_CHECK(d == second.dtype(), Runtime, "Expected object of scalar type ", scalar_type_name(d),
           " but got scalar type ", scalar_type_name(second.dtype()), " for second argument");
  if (out)
    TL_CHECK(out.tensor->dtype() == to_complex(d), Runtime, "Expected object of scalar type ",
             scalar_type_name(to_complex(d)), " but got scalar type ", scalar_type_name(out.tensor->dtype()),
             " for argument 'out'");
  return elementwise(kElementwise_complex__complex, out, polar ? ops::mul(first, ops::cos(second)) : first,
                     polar ? ops::mul(first, ops::sin(second)) : second);
}
}  // namespace

TL_KERNEL(polygamma, polygamma)
TL_KERNEL(mvlgamma, mvlgamma)
TL_KERNEL(sinc_backward, sinc_backward)
TL_KERNEL(logit, logit)
TL_KERNEL(logit_backward, logit_backward)
TL_KERNEL(special_i1_over, i1_over)
TL_KERNEL(_derivative_not_implemented, derivative_not_implemented)
TL_KERNEL(angle_backward, angle_backward)
TL_KERNEL(frexp, frexp)
TL_KERNEL(nextafter, nextafter)
TL_KERNEL(complex, complex_of<false>)
TL_KERNEL(polar, complex_of<true>)

}  // namespace tl

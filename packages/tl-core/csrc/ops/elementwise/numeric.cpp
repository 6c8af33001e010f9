// Elementwise functions that choose among loops, or check their inputs, before one runs.
#include <cmath>

#include "base/float_range.h"
#include "dispatch/lazy_bits.h"
#include "elementwise_defs.h"
#include "iter/dtypes.h"
#include "kernels/cpu/loops/equality.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "ops/shared/out.h"

namespace tl {

namespace {
Tensor round_decimals(const Tensor& self, int64_t decimals, Out out) {
  const double power = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  const Scalar factor(decimals > 0 ? power : 1.0), divisor(decimals < 0 ? power : 1.0);
  return elementwise(kElementwise_round_decimals__round_decimals, out, self, factor, divisor);
}

// ---- comparison within a tolerance ------------------------------------------------------------------------
Tensor isreal(const Tensor& self) {
  return is_complex(self.dtype()) ? ops::eq(ops::imag(self), Scalar(0))
                                  : ops::ones_like(self, {.dtype = DType::Bool});
}

bool can_be_infinite(const Tensor& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); }

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TL_CHECK(self.dtype() == other.dtype(), Runtime, scalar_type_name(self.dtype()), " did not match ",
           scalar_type_name(other.dtype()));
  TL_CHECK(rtol >= 0, Runtime, "rtol must be greater than or equal to zero, but got ", rtol);
  TL_CHECK(atol >= 0, Runtime, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = ops::eq(self, other);
  if (equal_nan && can_be_infinite(self))
    close = ops::logical_or(close, ops::logical_and(ops::isnan(self), ops::isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  const Tensor allowed = ops::add(ops::abs(ops::mul(other, Scalar(rtol))), Scalar(atol));
  const auto wide = [](const Tensor& t) { return can_be_infinite(t) ? t : ops::mul(t, Scalar(1.0)); };
  const Tensor apart = ops::abs(ops::sub(wide(self), wide(other)));
  return ops::logical_or(close, ops::logical_and(ops::isfinite(apart), ops::le(apart, allowed)));
}

bool is_true(const Tensor& t) { return ops::_local_scalar_dense(t).to_bool(); }

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return is_true(ops::all(isclose(self, other, rtol, atol, equal_nan)));
}

bool equal(const Tensor& self, const Tensor& other) {
  TL_CHECK(self.device() == other.device(), Runtime,
           "Expected all tensors to be on the same device, but found at least two devices, ",
           device_name(self.device()), " and ", device_name(other.device()), "! (equal)");
  if (!std::ranges::equal(self.sizes(), other.sizes())) return false;
  const bool plain = is_plain(self) && is_plain(other) && has_known_values(self) && has_known_values(other);
  if (plain && self.dtype() == other.dtype() && cpu::has_equality(self.dtype()) && self.is_contiguous() &&
      other.is_contiguous())
    return cpu::equal_elements(self.dtype(), self.ptr<char>(), other.ptr<char>(), self.numel());
  return is_true(ops::all(ops::eq(self, other)));
}

// ---- numbers in the place of what isn't finite ------------------------------------------------------------
Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf, Out out) {
  const double most = largest(to_real(self.dtype()));
  // Integers have nothing to replace: what stands for it needn't fit.
  const bool replaces = can_be_infinite(self);
  const auto number = [&](std::optional<double> given, double otherwise) {
    return replaces ? Scalar(given.value_or(otherwise)) : Scalar(false);
  };
  return elementwise(kElementwise_nan_to_num__nan_to_num, out, self, number(nan, 0), number(posinf, most),
                     number(neginf, -most));
}

// ---- arithmetic by other operators' loops -----------------------------------------------------------------
Tensor rsub(const Tensor& self, const Operand& other, const Scalar& alpha, Out out) {
  const DType d = self.dtype();
  TL_CHECK(d != DType::Bool || !other.is_tensor() || other.tensor().dtype() != DType::Bool, Runtime,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
  return elementwise(kElementwise_sub_sub, out, other, self, alpha);
}

template <bool to_degrees>
Tensor convert_angle(const Tensor& self, Out out) {
  constexpr const char* name = to_degrees ? "rad2deg" : "deg2rad";
  constexpr double kDegrees = 57.295779513082320876798154814105,
                   kRadians = 0.017453292519943295769236907684886;
  TL_CHECK(!is_complex(self.dtype()), Runtime, name, " is not supported for complex tensors.");
  return elementwise(kElementwise_mul_mul, out, self, Scalar(to_degrees ? kDegrees : kRadians));
}

Tensor positive(const Tensor& self) {
  TL_CHECK(self.dtype() != DType::Bool, Runtime, "The `+` operator, on a bool tensor is not supported.");
  return self;
}

// Powers of two beyond the range of a type may still scale a number into it. Double precision holds all that
// single precision needs, and takes its own in three steps.
Tensor scaled_by_powers(const Tensor& self, const Tensor& exponents, DType dtype) {
  const bool is_wide = to_real(dtype) == DType::Float64;
  const DType wide = is_complex(dtype) ? DType::Complex128 : DType::Float64;
  constexpr double kMost = 2100;  // takes the least double beyond the greatest
  const Tensor steps = ops::clamp(ops::to_dtype(exponents, DType::Float64), Scalar(-kMost), Scalar(kMost));
  const Tensor x = ops::to_dtype(self, wide);
  if (!is_wide)
    return ops::to_dtype(ops::mul(x, ops::exp2(ops::clamp(steps, Scalar(-600.0), Scalar(600.0)))), dtype);
  const Tensor third = ops::trunc(ops::div(steps, Scalar(3.0)));
  const Tensor factor = ops::exp2(third), rest = ops::exp2(ops::sub(steps, ops::mul(third, Scalar(2.0))));
  return ops::mul(ops::mul(ops::mul(x, factor), factor), rest);
}

Tensor ldexp(const Tensor& self, const Tensor& other, Out out) {
  if (!is_integral(other.dtype(), true) || is_integral(self.dtype(), true))
    return elementwise(kElementwise_mul_mul, out, self, ops::pow_Scalar(Scalar(2.0), other));
  return copied_out(scaled_by_powers(self, other, self.dtype()), out);
}

Tensor heaviside(const Tensor& self, const Tensor& values, Out out) {
  TL_CHECK(
      !is_complex(self.dtype()) && !is_complex(values.dtype()) && !(out && is_complex(out.tensor->dtype())),
      Runtime, "heaviside is not yet implemented for complex tensors.");
  TL_CHECK(self.dtype() == values.dtype() && !(out && out.tensor->dtype() != self.dtype()), Runtime,
           "heaviside is not yet implemented for tensors with different dtypes.");
  return elementwise(kElementwise_heaviside__heaviside, out, self, values);
}

// ---- powers -----------------------------------------------------------------------------------------------
// Single and double precision take an exponent beyond their range for an infinite one.
void check_exponent(const Tensor& base, const Scalar& exponent) {
  Promotion types;
  types.add(base);
  types.add(exponent);
  if (const DType d = types.result(); is_integral(d, false) || is_half(d)) exponent.check_fits(d);
}

// complex32 has no loop for powers, and the exponents 0 and 1 need none.
bool is_plain_power(const Operand& base, const Operand& exponent) {
  if (!base.is_tensor() || base.tensor().dtype() != DType::Complex32 || exponent.is_tensor()) return false;
  const Scalar& n = exponent.scalar();
  return !n.is_complex() && (n.to_double() == 0 || n.to_double() == 1);
}
Tensor plain_power(const Tensor& base, bool is_base, Out out) {
  const Tensor value = is_base ? base : ops::ones_like(base);
  if (!out) return is_base ? ops::clone(base) : value;
  return ops::copy_(prepare_out(out, base.sizes(), {out.tensor->dtype(), base.device()}), value);
}

// As in the reference, a number that asks for a root is not an exponent: of -0.0 and minus infinity the two
// differ.
Tensor power(const Operand& base, const Operand& exponent, Out out) {
  if (base.is_tensor() && is_integral(base.tensor().dtype(), true) && !exponent.is_tensor())
    TL_CHECK(!exponent.scalar().is_int() || exponent.scalar().to_int() >= 0, Runtime,
             "Integers to negative integer powers are not allowed.");
  if (base.is_tensor() && !exponent.is_tensor()) check_exponent(base.tensor(), exponent.scalar());
  if (!exponent.is_tensor() && exponent.scalar().is_float()) {
    const double number = exponent.scalar().to_double();
    if (number == 0.5) return elementwise(kElementwise_sqrt_sqrt, out, base);
    if (number == -0.5) return elementwise(kElementwise_rsqrt_rsqrt, out, base);
  }
  if (is_plain_power(base, exponent))
    return plain_power(base.tensor(), exponent.scalar().to_double() == 1, out);
  return elementwise(kElementwise_pow_pow, out, base, exponent);
}

// In double precision.
bool is_complex_operand(const Operand& o) {
  return o.is_tensor() ? is_complex(o.tensor().dtype()) : o.scalar().is_complex();
}
Tensor float_power(const Operand& self, const Operand& exponent, Out out) {
  const DType d =
      is_complex_operand(self) || is_complex_operand(exponent) ? DType::Complex128 : DType::Float64;
  const bool in_place = out && self.is_tensor() && self.tensor().same(*out);
  if (out)
    TL_CHECK(out.tensor->dtype() == d, Runtime, "the ", in_place ? "base" : "output", " given to ",
             in_place ? "float_power_" : "float_power", " has dtype ", scalar_type_name(out.tensor->dtype()),
             " but the operation's result requires dtype ", scalar_type_name(d));
  // An operand borrows its tensor: these keep the converted ones.
  const Tensor base = self.is_tensor() ? to_dtype(self.tensor(), d) : Tensor();
  const Tensor converted = exponent.is_tensor() ? to_dtype(exponent.tensor(), d) : Tensor();
  return power(base ? Operand(base) : self, converted ? Operand(converted) : exponent, out);
}
Tensor float_power_tensors(const Tensor& self, const Tensor& exponent, Out out) {
  return float_power(Operand(self), Operand(exponent), out);
}
Tensor float_power_of_number(const Scalar& self, const Tensor& exponent, Out out) {
  return float_power(Operand(self), Operand(exponent), out);
}
Tensor float_power_by_number(const Tensor& self, const Scalar& exponent, Out out) {
  return float_power(Operand(self), Operand(exponent), out);
}
}  // namespace

TL_KERNEL(round_decimals, round_decimals)
TL_KERNEL(isreal, isreal)
TL_KERNEL(isclose, isclose)
TL_KERNEL(allclose, allclose)
TL_KERNEL(equal, equal)
TL_KERNEL(nan_to_num, nan_to_num)
TL_KERNEL(rsub, rsub)
TL_KERNEL(deg2rad, convert_angle<false>)
TL_KERNEL(rad2deg, convert_angle<true>)
TL_KERNEL(resolve_conj, resolve_conj)
TL_KERNEL(resolve_neg, resolve_neg)
TL_KERNEL(positive, positive)
TL_KERNEL(ldexp, ldexp)
TL_KERNEL(heaviside, heaviside)
TL_KERNEL(power, power)
TL_KERNEL(float_power_Tensor_Tensor, float_power_tensors)
TL_KERNEL(float_power_Scalar, float_power_of_number)
TL_KERNEL(float_power_Tensor_Scalar, float_power_by_number)

}  // namespace tl

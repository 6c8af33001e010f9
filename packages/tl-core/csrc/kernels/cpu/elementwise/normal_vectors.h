// The normal distribution and the scaled error function of vectors: exp(a^2 / 2) times the tail above a is
// smooth, and what the rounding of the square lost is given back to the exponential.
#pragma once

#include "kernels/cpu/elementwise/piecewise.h"
#include "kernels/cpu/elementwise/special_functions.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace normal {
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// exp(a^2 / 2) Q(a) for a >= 0, Q the share above a; far away the asymptotic form (DLMF 7.12.1).
[[gnu::noinline]] inline VecD scaled_tail(VecD a) {
  const VecD value = piecewise_from_zero(special::kNormalTail, a + a);
  const auto far = a >= 8.0;
  if (!any(far)) return value;
  const VecD inverse = 1.0 / a, w = inverse * inverse;
  VecD sum = VecD{} + special::kNormalFar[0];
  for (size_t k = 1; k < sizeof special::kNormalFar / sizeof(double); ++k)
    sum = fma(sum, w, VecD{} + special::kNormalFar[k]);
  return select<VecD>(far, sum * inverse, value);
}

// exp(by * x^2), for |x| up to 1e150. A whole that is infinite stays so, whatever the rest's sign.
TL_INLINE VecD exp_of_squared(VecD x, double by) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const VecD square = x * x, whole = exp(by * square);
  const VecD factor = by > 0 ? select<VecD>(whole > kLargest, VecD{} + kLargest, whole) : whole;
  return fma(by * product_rest(x, x, square), factor, whole);
}

TL_INLINE VecD tail(VecD a) {  // Q(a) for a >= 0, which is zero from 40 on
  const VecD bounded = select<VecD>(a > 40.0, VecD{} + 40.0, a);
  return scaled_tail(bounded) * exp_of_squared(bounded, -0.5);
}

// log(1 - x) for x from 0 to 1/2.
TL_INLINE VecD log_of_one_less(VecD x) {
  const VecD whole = 1.0 - x, lost = (1.0 - whole) - x;
  return log(whole) + lost / whole;
}

// The quantile of m = exp(-r^2 / 2), of which the sign is changed.
TL_INLINE VecD tail_quantile(VecD m) {
  constexpr double kBegin = 0.0257, kPerUnit = 16 / (0.44 - 0.0257);
  const VecD r = sqrt(-2.0 * log(m)), coordinate = (1.0 / r - kBegin) * kPerUnit;
  const Piece at = piece_of(coordinate);
  return r * piecewise(special::kQuantileTail, at.which, (coordinate - (at.begin + 0.5)) * (1 / kPerUnit));
}
}  // namespace normal

namespace special_vectors {
[[gnu::noinline]] inline VecD ndtr(VecD x) {
  const VecD tail = normal::tail(abs(x));
  return select<VecD>(x < 0.0, tail, 1.0 - tail);
}
// Of floats, whose squares are exact.
[[gnu::noinline]] inline VecD ndtr_of_floats(VecD x) {
  const VecD size = abs(x), bounded = select<VecD>(size > 40.0, VecD{} + 40.0, size);
  const VecD tail = normal::scaled_tail(bounded) * brief::exp(-0.5 * bounded * bounded);
  return select<VecD>(x < 0.0, tail, 1.0 - tail);
}

// The logarithm of ndtr; of negative numbers from both factors, which have the same sign.
[[gnu::noinline]] inline VecD log_ndtr(VecD x) {
  const VecD size = abs(x), scaled = normal::scaled_tail(size), below = fma(-0.5 * x, x, log(scaled));
  if (!any(x >= 0.0)) return below;
  const VecD bounded = select<VecD>(size > 40.0, VecD{} + 40.0, size);
  const VecD above = normal::log_of_one_less(scaled * normal::exp_of_squared(bounded, -0.5));
  return select<VecD>(x < 0.0, below, above);
}

// exp(x^2) erfc(x)
[[gnu::noinline]] inline VecD erfcx(VecD x) {
  constexpr double kRootTwo = 1.41421356237309504880;
  const VecD right = 2.0 * normal::scaled_tail(abs(x) * kRootTwo);
  if (!any(x < 0.0)) return right;
  const VecD bounded = select<VecD>(x < -30.0, VecD{} - 30.0, x);
  const VecD left = fma(normal::exp_of_squared(bounded, 1.0), VecD{} + 2.0, -right);
  return select<VecD>(x < 0.0, left, right);
}

// The quantile of p: q = p - 1/2 times a function of q^2 up to 0.425, as Wichura (1988) divides it, then a
// function of sqrt(-2 log(min(p, 1 - p))).
[[gnu::noinline]] inline VecD ndtri(VecD p) {
  constexpr double kWidth = 0.180625 / kPieces;
  const VecD q = p - 0.5, square = q * q;
  const Piece at = piece_of(square * (1 / kWidth));
  VecD value = q * piecewise(special::kQuantileCentre, at.which, square - kWidth * (at.begin + 0.5));
  const auto far = abs(q) > 0.425;
  if (!any(far)) return value;
  const VecD size = normal::tail_quantile(select<VecD>(p < 0.5, p, 1.0 - p));
  value = select<VecD>(far, copysign(size, q), value);
  const VecD ends = select<VecD>((p == 0.0) | (p == 1.0), q * normal::kInfinity, VecD{} + normal::kNaN);
  return select<VecD>((p > 0.0) & (p < 1.0), value, ends);
}
}  // namespace special_vectors

#ifdef __FMA__
// 1 - erf(x), from exp(-x^2) and the scaled tail: 4.5 units in the last place.
TL_INLINE VecD erfc(VecD x) {
  constexpr double kRootTwo = 1.41421356237309504880;
  const VecD size = abs(x), bounded = select<VecD>(size > 28.0, VecD{} + 28.0, size);
  const VecD tail = 2.0 * normal::scaled_tail(bounded * kRootTwo) * normal::exp_of_squared(bounded, -1.0);
  return select<VecD>(x < 0.0, 2.0 - tail, tail);
}
// Up to 1 x times a polynomial in its square: 2 units in the last place.
TL_INLINE VecD erf(VecD x) {
  const VecD size = abs(x), z = x * x;
  const VecD p = z * polynomial(z, 0x1.460f780e4729dp-42, -0x1.b860b63a1e77bp-38, 0x1.9ae3b3eb19e99p-34,
                                -0x1.5194ba2baa2c6p-30, 0x1.fcbeb1bfbdc46p-27, -0x1.5f73f0d025fe0p-23,
                                0x1.b9e6c6b93df0ep-20, -0x1.f4d25c21a7ae1p-17, 0x1.f9a326f909fcap-14,
                                -0x1.c02db4003dfffp-11, 0x1.565bcd0e6a4d7p-8, -0x1.b82ce31288b50p-6,
                                0x1.ce2f21a042be2p-4, -0x1.812746b0379e7p-2);
  const VecD centre = x * ((p + 0x1.1ae3a914fed80p-56) + 0x1.20dd750429b6dp0);
  if (!any(size >= 1.0)) return centre;
  return select<VecD>(size < 1.0, centre, copysign(1.0 - erfc(size), x));
}
// The quantile of (1 + x) / 2, divided by the square root of 2: 4 units in the last place.
TL_INLINE VecD erfinv(VecD x) {
  constexpr double kHalfRootTwo = 0.70710678118654752440, kWidth = 0.180625 / kPieces;
  const VecD q = 0.5 * x, square = q * q, size = abs(x);
  const Piece at = piece_of(square * (1 / kWidth));
  VecD value =
      q * (piecewise(special::kQuantileCentre, at.which, square - kWidth * (at.begin + 0.5)) * kHalfRootTwo);
  const auto far = size > 0.85;
  if (!any(far)) return value;
  value = select<VecD>(far, copysign(normal::tail_quantile(0.5 - 0.5 * size) * kHalfRootTwo, x), value);
  const VecD ends = select<VecD>(size == 1.0, x * normal::kInfinity, VecD{} + normal::kNaN);
  return select<VecD>(size < 1.0, value, ends);
}
#else
TL_INLINE VecD erf(VecD x) {
  return map(x, [](double v) { return std::erf(v); });
}
TL_INLINE VecD erfc(VecD x) {
  return map(x, [](double v) { return std::erfc(v); });
}
TL_INLINE VecD erfinv(VecD x) {
  return map(x, [](double v) { return special::erfinv(v); });
}
#endif

}  // namespace tl::cpu::TL_ISA_NAMESPACE

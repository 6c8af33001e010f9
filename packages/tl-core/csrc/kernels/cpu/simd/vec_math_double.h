// Elementary functions of vectors of double, where the processor has a fused multiply-add: at most about 1
// unit in the last place off (2.5: expm1, sinh, cosh, tan, atanh). Each takes its argument apart so that
// nothing is lost before the last sum: what a rounding took away is kept in a second number. Elsewhere the
// functions go lane by lane through libm.
//
// Polynomials interpolate at Chebyshev points, in the interval that stands with them; series are Maclaurin's.
#pragma once

#include "kernels/cpu/simd/vec_math.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

#ifdef __FMA__
// ---- sums of two numbers ----------------------------------------------------------------------------------
struct Pair {
  VecD upper, lower;
};
// a + b, where a is zero or the larger one (Dekker 1971).
TL_INLINE Pair ordered_sum(VecD a, VecD b) {
  const VecD sum = a + b;
  return {sum, b - (sum - a)};
}
// a + b (Knuth 1969)
TL_INLINE Pair exact_sum(VecD a, VecD b) {
  const VecD sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
TL_INLINE Pair exact_product(VecD a, VecD b) {
  const VecD product = a * b;
  return {product, fma(a, b, -product)};
}

// ---- exponentials -----------------------------------------------------------------------------------------
struct Reduced {  // r + n log 2
  VecD r, n;
};
TL_INLINE Reduced reduced(VecD x) {
  const VecD n = nearest_whole(x, 0x1.71547652b82fep0);
  return {fma(n, VecD{} - 0x1.a39ef35793c76p-33, fma(n, VecD{} - 0x1.62e42feep-1, x)), n};
}
// exp(r) - 1
TL_INLINE VecD expm1_reduced(VecD r) {
  const VecD q = polynomial(r, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                            1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5);
  return fma(r * r, q, r);
}
// Of half the power of two, so that no power leaves the range before its product does.
TL_INLINE VecD expm1(VecD x) {
  const Reduced part = reduced(within(x, -60.0, 710.0));
  const VecD power = exp2_whole(part.n - 1.0), half = fma(power, expm1_reduced(part.r), power - 0.5);
  return copysign(half + half, x);
}
// exp(x) / 2, for x up to where sinh and cosh end.
TL_INLINE VecD half_exp(VecD x) {
  const Reduced part = reduced(within(x, kFarBelow<double>, 711.0));
  return exp_reduced(part.r, part.n - 1.0);
}
TL_INLINE VecD sinh(VecD x) {
  const VecD size = abs(x), half = half_exp(size), less = expm1(size);
  const VecD small = 0.5 * (less + less / (less + 1.0));
  return copysign(select<VecD>(size < 1.0, small, half - 0.25 / half), x);
}
TL_INLINE VecD cosh(VecD x) {
  const VecD half = half_exp(abs(x));
  return half + 0.25 / half;
}

// ---- logarithms -------------------------------------------------------------------------------------------
TL_INLINE VecD log1p(VecD x) {
  const VecD whole = 1.0 + x, lost = x - (whole - 1.0);
  VecD m, k;
  split_exponent(whole, m, k);
  const auto small = k == 0.0;  // x is used as it is; elsewhere what rounding took from 1 + x comes back
  const VecD result =
      log_assemble(select<VecD>(small, x, m - 1.0), k, select<VecD>(small, VecD{}, lost / whole));
  return copysign(log_edges<VecD>(whole, result), x);
}

// log(x), about 2^-64 of it off: the series of 2 atanh(s), s = (m - 1) / (m + 1), of which the first two
// terms and s itself are pairs.
TL_INLINE Pair log_pair(VecD x) {
  VecD m, k;
  split_exponent(x, m, k);
  const VecD f = m - 1.0, below = 2.0 + f, inverse = 1.0 / below, s = f * inverse;
  const VecD s_lower = (fma(-s, below, f) - s * (f - (below - 2.0))) * inverse;
  const VecD z = s * s, z_lower = fma(s, s, -z) + 2.0 * s * s_lower;
  const Pair third = exact_product(z, VecD{} + 0x1.5555555555555p-1);
  const VecD rest = z * z *
                    polynomial(z, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                               2.0 / 9, 2.0 / 7, 2.0 / 5);
  const VecD third_lower =
      fma(z_lower, VecD{} + 0x1.5555555555555p-1, fma(z, VecD{} + 0x1.5555555555555p-55, third.lower));
  const Pair cube = exact_product(s, third.upper);
  const VecD lower = fma(s, third_lower + rest, fma(s_lower, 2.0 + third.upper, cube.lower));
  const Pair first = ordered_sum(k * 0x1.62e42feep-1, s + s), second = ordered_sum(first.upper, cube.upper);
  return ordered_sum(second.upper,
                     first.lower + (second.lower + fma(k, VecD{} + 0x1.a39ef35793c76p-33, lower)));
}
// log(x) times a factor in two parts: powers of the base come out whole.
TL_INLINE VecD log_to_base(VecD x, double upper, double lower) {
  const Pair log = log_pair(x), product = exact_product(log.upper, VecD{} + upper);
  const VecD rest = fma(log.upper, VecD{} + lower, fma(log.lower, VecD{} + upper, product.lower));
  return log_edges<VecD>(x, product.upper + rest);
}
TL_INLINE VecD log2(VecD x) { return log_to_base(x, 0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56); }
TL_INLINE VecD log10(VecD x) { return log_to_base(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57); }
TL_INLINE VecD atanh(VecD x) {
  const VecD size = abs(x), rest = 1.0 - size, twice = size + size;
  const VecD inner = select<VecD>(size < 0.5, fma(twice, size / rest, twice), twice / rest);
  return copysign(0.5 * log1p(inner), x);
}

// x^y: its logarithm is a pair.
TL_INLINE VecD general_pow(VecD x, VecD y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const VecD size = abs(x);
  const Pair log = log_pair(size);
  const VecD upper = log_edges<VecD>(size, log.upper),
             lower = select<VecD>(abs(upper) < infinity, log.lower, VecD{});
  const Pair product = exact_product(y, upper);
  const VecD rest = fma(y, lower, product.lower);
  const Reduced part = reduced(within(product.upper, kFarBelow<double>, 710.0));
  const VecD r = part.r + select<VecD>(abs(product.upper) < 800.0, rest, VecD{});
  return pow_ends(x, y, exp_reduced(r, part.n));
}

// ---- angles -----------------------------------------------------------------------------------------------
// An angle up to 2^22 as quarter turns and what is left of it, the sum of two numbers. pi/2 comes in three
// parts, of which the products with the first two cancel without a rounding where little is left.
struct WideQuarters {
  VecD left, rest;
  VecL count;
};
inline constexpr double kFarWideAngle = 0x1p22;
TL_INLINE WideQuarters quarters_of(VecD x, int quarters) {
  constexpr double magic = 0x1.8p52;
  const VecD shifted = fma(x, VecD{} + 0x1.45f306dc9c883p-1, VecD{} + magic), n = shifted - magic;
  const VecD first = fma(n, VecD{} - 0x1.921fb54442d18p0, x), low = VecD{} - 0x1.1a62633p-54;
  const VecD left = fma(n, low, first);
  const VecD rest = fma(n, VecD{} - 0x1.45c06e0e68948p-86, fma(n, low, first - left));
  return {left, rest, bitcast<VecL>(shifted) + quarters};
}
TL_INLINE VecD sine_of(const WideQuarters& q) {
  const VecD z = q.left * q.left;
  const VecD p = polynomial(z, 1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                            1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6);
  return q.left + fma(q.left * z, p, fma(-0.5 * z, q.rest, q.rest));
}
TL_INLINE VecD cosine_of(const WideQuarters& q) {
  const VecD z = q.left * q.left, half = 0.5 * z, most = 1.0 - half;
  const VecD p = polynomial(z, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
                            1.0 / 40320, -1.0 / 720, 1.0 / 24);
  return most + (fma(z * z, p, (1.0 - most) - half) - q.left * q.rest);
}
TL_INLINE VecD sin_quarters(VecD x, int quarters) {
  const WideQuarters q = quarters_of(x, quarters);
  const VecD value = select<VecD>((q.count & 1) != 0, cosine_of(q), sine_of(q));
  return bitcast<VecD>(bitcast<VecL>(value) ^ ((q.count & 2) << 62));
}
// Angles too far for the reduction go through the library, lane by lane.
template <class F>
[[gnu::noinline]] VecD far_wide_angle(VecD x, VecD reduced, F library) {
  return select<VecD>(abs(x) <= kFarWideAngle, reduced, map(x, library));
}
template <class F>
TL_INLINE VecD of_wide_angle(VecD x, VecD reduced, F library) {
  if (any(abs(x) > kFarWideAngle)) [[unlikely]]
    return far_wide_angle(x, reduced, library);
  return reduced;
}
TL_INLINE VecD sin(VecD x) {
  return of_wide_angle(x, select<VecD>(x == 0.0, x, sin_quarters(x, 0)),
                       [](double v) { return std::sin(v); });
}
TL_INLINE VecD cos(VecD x) {
  return of_wide_angle(x, sin_quarters(x, 1), [](double v) { return std::cos(v); });
}
TL_INLINE VecD tan(VecD x) {
  const WideQuarters q = quarters_of(x, 0);
  const auto odd = (q.count & 1) != 0;
  const VecD s = sine_of(q), c = cosine_of(q);
  const VecD value = select<VecD>(odd, -c, s) / select<VecD>(odd, s, c);
  return of_wide_angle(x, select<VecD>(x == 0.0, x, value), [](double v) { return std::tan(v); });
}

// ---- inverse circular functions ---------------------------------------------------------------------------
// quarters quarter turns + y + y * part + lower, where quarters is 0 or its turn is larger than y.
TL_INLINE VecD plus_quarters(VecD quarters, VecD y, VecD part, VecD lower) {
  const Pair sum = ordered_sum(quarters * 0x1.921fb54442d18p0, y);
  return sum.upper + fma(y, part, fma(quarters, VecD{} + 0x1.1a62633145c07p-54, sum.lower + lower));
}
// What asin(s) / s exceeds 1 by for s <= 1/2, of which z is the square.
TL_INLINE VecD asin_part(VecD z) {
  return z * polynomial(z, 0x1.d72b2bc8155f8p-6, -0x1.e6aaa8a0a04ccp-7, 0x1.1d189408314eep-6,
                        0x1.65a9c4dfcf8b2p-8, 0x1.52420b04b37bep-7, 0x1.782651caa6547p-7,
                        0x1.c9cf07674736ap-7, 0x1.1c4d35cf95421p-6, 0x1.6e8bb1c8209a2p-6,
                        0x1.f1c71c1db0623p-6, 0x1.6db6db6e31f13p-5, 0x1.3333333332ecap-4,
                        0x1.5555555555556p-3);
}
// Twice the sine of half the angle from the nearer end, beyond 1/2: 2 sqrt((1 - size) / 2).
struct HalfAngle {
  VecD z, chord, lower;
  Mask<VecD> is_large;
};
TL_INLINE HalfAngle half_angle(VecD size) {
  const auto large = size > 0.5;
  const VecD z = select<VecD>(large, 0.5 - 0.5 * size, size * size), root = sqrt(z);
  const VecD lower = select<VecD>(z > 0.0, fma(-root, root, z) / root, VecD{});
  return {z, root + root, lower, large};
}
TL_INLINE VecD asin(VecD x) {
  const VecD size = abs(x);
  const HalfAngle h = half_angle(size);
  const VecD y = select<VecD>(h.is_large, -h.chord, size), lower = select<VecD>(h.is_large, -h.lower, VecD{});
  const VecD quarters = select<VecD>(h.is_large, VecD{} + 1.0, VecD{});
  return copysign(plus_quarters(quarters, y, asin_part(h.z), lower), x);
}
TL_INLINE VecD acos(VecD x) {
  const HalfAngle h = half_angle(abs(x));
  const VecD y = select<VecD>(h.is_large, copysign(h.chord, x), -x);
  const VecD lower = select<VecD>(h.is_large, copysign(VecD{} + 1.0, x) * h.lower, VecD{});
  const VecD far = select<VecD>(x < 0.0, VecD{} + 2.0, VecD{});
  return plus_quarters(select<VecD>(h.is_large, far, VecD{} + 1.0), y, asin_part(h.z), lower);
}

// The angle of a / b for 0 <= a <= b: above tan(pi/8), from half a quarter turn. Then the turns from another
// axis: `sign` and `quarters` say which.
TL_INLINE VecD angle_of(VecD a, VecD b, VecD sign, VecD quarters) {
  const auto upper = a > b * 0x1.a827999fcef32p-2;
  const Pair difference = exact_sum(a, -b), sum = exact_sum(a, b);
  const VecD over = select<VecD>(upper, difference.upper, a), under = select<VecD>(upper, sum.upper, b);
  const VecD y = over / under, zero = VecD{};
  const VecD missing = select<VecD>(upper, fma(-y, sum.lower, difference.lower), zero);
  const VecD lower = (fma(-y, under, over) + missing) / under, z = y * y;
  const VecD part = z * polynomial(z, 0x1.0acd9e91a5a35p-6, -0x1.1b311bb48c215p-5, 0x1.74dccfb93fff0p-5,
                                   -0x1.ac7a5a79b3f26p-5, 0x1.e19a0bfa3eef9p-5, -0x1.110e87b4357d2p-4,
                                   0x1.3b1392d519db1p-4, -0x1.745d165dc9713p-4, 0x1.c71c71c303dbbp-4,
                                   -0x1.249249248d7dcp-3, 0x1.9999999999953p-3, -0x1.5555555555555p-2);
  const VecD half = select<VecD>(upper, VecD{} + 0.5, zero);
  return plus_quarters(fma(sign, half, quarters), sign * y, part, sign * lower);
}
TL_INLINE VecD atan(VecD x) {
  const VecD size = within(abs(x), 0.0, 0x1p60), one = VecD{} + 1.0;
  const auto steep = size > 1.0;
  const VecD a = select<VecD>(steep, one, size), b = select<VecD>(steep, size, one);
  const VecD angle = angle_of(a, b, select<VecD>(steep, -one, one), select<VecD>(steep, one, VecD{}));
  return copysign(select<VecD>(size < 0x1p-60, size, angle), x);
}
// Infinities stand for numbers of the same ratio, and sizes near the ends of the range are brought to its
// middle.
TL_INLINE VecD atan2(VecD y, VecD x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const VecD rise = abs(y), run = abs(x), one = VecD{} + 1.0;
  const auto steep = rise > run;
  VecD a = select<VecD>(steep, run, rise), b = select<VecD>(steep, rise, run);
  const auto endless = b == infinity;
  a = select<VecD>(endless, select<VecD>(a == infinity, one, VecD{}), a);
  b = select<VecD>(endless | (b == 0.0), one, b);
  const VecD by =
      select<VecD>(b > 0x1p900, VecD{} + 0x1p-100, select<VecD>(b < 0x1p-900, VecD{} + 0x1p150, one));
  a *= by, b *= by;
  VecD sign = select<VecD>(steep, -one, one), quarters = select<VecD>(steep, one, VecD{});
  const auto left = copysign(one, x) < 0.0;
  sign = select<VecD>(left, -sign, sign), quarters = select<VecD>(left, 2.0 - quarters, quarters);
  const VecD angle = copysign(angle_of(a, b, sign, quarters), y);
  return select<VecD>(is_nan(x) | is_nan(y), x + y, angle);
}

// The quotient, cut off, is whole and at most one too large; its product with the divisor leaves an exact
// rest.
TL_INLINE VecD fmod_within(VecD x, VecD y) {
  const VecD size = abs(x), by = abs(y), rest = fma(-trunc(size / by), by, size);
  return copysign(select<VecD>(rest < 0.0, rest + by, rest), x);
}
TL_INLINE VecD fmod(VecD x, VecD y) {
  const VecD rest = fmod_within(x, y);
  const auto far = ~((abs(x) < abs(y) * 0x1p52) & (abs(y) < std::numeric_limits<double>::infinity()));
  if (!any(far)) [[likely]]
    return rest;
  return select<VecD>(far, map(x, y, [](double a, double b) { return std::fmod(a, b); }), rest);
}

#else
#define TL_BY_LANE(name)                                  \
  TL_INLINE VecD name(VecD x) {                           \
    return map(x, [](double v) { return std::name(v); }); \
  }
#define TL_TWO_BY_LANE(function, name)                                    \
  TL_INLINE VecD function(VecD x, VecD y) {                               \
    return map(x, y, [](double a, double b) { return std::name(a, b); }); \
  }
TL_BY_LANE(sin)
TL_BY_LANE(cos)
TL_BY_LANE(tan)
TL_BY_LANE(asin)
TL_BY_LANE(acos)
TL_BY_LANE(atan)
TL_BY_LANE(atanh)
TL_BY_LANE(sinh)
TL_BY_LANE(cosh)
TL_BY_LANE(expm1)
TL_BY_LANE(log1p)
TL_BY_LANE(log2)
TL_BY_LANE(log10)
TL_TWO_BY_LANE(atan2, atan2)
TL_TWO_BY_LANE(fmod, fmod)
TL_TWO_BY_LANE(general_pow, pow)
#undef TL_TWO_BY_LANE
#undef TL_BY_LANE
#endif

TL_INLINE VecD pow(VecD x, VecD y) {
  return pow_by(x, y, [](VecD a, VecD b) { return general_pow(a, b); });
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// Elementary functions of vectors that are less often called than those of vec_math.h: powers and logarithms
// to other bases, tan, the inverse circular and hyperbolic functions, erfc and the inverse of erf. What is
// said of floats' errors there holds here; some floats go through double, where that is simplest, and double
// goes lane by lane.
#pragma once

#include "kernels/cpu/elementwise/special_functions.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// ---- inverses, of numbers from 2^-125 to 2^125: a division takes as long as ten products ------------------
// To 13 bits at least.
TL_INLINE VecF rough_inverse(VecF x) {
#if TL_ISA_LEVEL >= 4
  return _mm512_rcp14_ps(x);
#else
  return 1.0f / x;
#endif
}
// To the last bit but one.
TL_INLINE VecF inverse(VecF x) {
  const VecF rough = rough_inverse(x);
  return TL_ISA_LEVEL >= 4 ? fma(rough, fma(-rough, x, VecF{} + 1.0f), rough) : rough;
}

// ---- bases two and ten ------------------------------------------------------------------------------------
TL_INLINE VecF exp2(VecF x) {
  const VecF bounded =
      select<VecF>(x > 129.0f, VecF{} + 129.0f, select<VecF>(x < -151.0f, VecF{} - 151.0f, x));
  const VecF n = round_even(bounded), r = bounded - n;
  const VecF q = polynomial(r, 0x1.430972p-13f, 0x1.5f0822p-10f, 0x1.3b2bap-7f, 0x1.c6af6ep-5f,
                            0x1.ebfbdep-3f, 0x1.62e43p-1f);
  return scale<VecF>(fma(r, q, VecF{} + 1.0f), n);
}
TL_INLINE VecD exp2(VecD x) {
  const VecD bounded =
      select<VecD>(x > 1025.0, VecD{} + 1025.0, select<VecD>(x < -1076.0, VecD{} - 1076.0, x));
  const VecD n = round_even(bounded), r = bounded - n;
  const VecD q = polynomial(r, 0x1.c3bdd0a0f30c3p-36, 0x1.e9ec0194c5c65p-32, 0x1.e4cfae2cee126p-28,
                            0x1.b524ebe5f8ad2p-24, 0x1.62c0221b637b6p-20, 0x1.ffcbfc6d9d098p-17,
                            0x1.430912f874186p-13, 0x1.5d87fe78a3fbbp-10, 0x1.3b2ab6fba4e60p-7,
                            0x1.c6b08d704a0c6p-5, 0x1.ebfbdff82c58fp-3, 0x1.62e42fefa39efp-1);
  return scale<VecD>(fma(r, q, VecD{} + 1.0), n);
}

// log2(m 2^k) = log(m) / log(2) + k: whole for powers of two.
TL_INLINE VecF log2(VecF x) {
#if TL_ISA_LEVEL >= 4
  return log_by<kLog2>(x);
#else
  VecF m, k;
  split_exponent(x, m, k);
  const VecF f = m - 1.0f, l = f + log_rest(f, VecF{});
  return log_edges<VecF>(x, fma(l, VecF{} + 0x1.715476p+0f, fma(l, VecF{} + 0x1.4ae0cp-26f, k)));
#endif
}
// log10(m 2^k), its parts added without loss: powers of ten come out whole.
TL_INLINE VecF log10(VecF x) {
#if TL_ISA_LEVEL >= 4
  return log_by<kLog10>(x);
#else
  VecF m, k;
  split_exponent(x, m, k);
  const VecF f = m - 1.0f, l = f + log_rest(f, VecF{});
  return log_edges<VecF>(
      x, fma(k, VecF{} + 0x1.344p-2f,
             fma(l, VecF{} + 0x1.bcb7b2p-2f, fma(l, VecF{} - 0x1.5b235ep-27f, k * 0x1.3509f8p-18f))));
#endif
}

// exp(x) - 1 of numbers that are not positive.
TL_INLINE VecF expm1_below(VecF x) { return expm1_between(select<VecF>(x < -88.0f, VecF{} - 88.0f, x)); }
TL_INLINE VecD expm1_below(VecD x) { return expm1(x); }

namespace brief {

// Of the angle's sine and cosine, see sin_quarters; for |x| up to 4e6.
TL_INLINE VecD tan(VecD x) { return sin_quarters(x, 0) / sin_quarters(x, 1); }

constexpr double kHalfPi = 0x1.921fb54442d18p0;

// atan(x) for 0 <= x <= 1: above tan(pi/8), from pi/4.
TL_INLINE VecD atan_to_one(VecD x) {
  const auto upper = x > 0.41421356237309503;
  const VecD s = select<VecD>(upper, (x - 1.0) / (x + 1.0), x), z = s * s;
  const VecD p = polynomial(z, -0x1.f25dd114646a4p-5, 0x1.b203e00d68f64p-4, -0x1.23b6dafc1368ap-3,
                            0x1.9991af25c89dcp-3, -0x1.5555496015301p-2);
  return fma(s * z, p, s) + select<VecD>(upper, VecD{} + 0.5 * kHalfPi, VecD{});
}
TL_INLINE VecD atan2(VecD y, VecD x) {
  const VecD a = abs(y), b = abs(x);
  const auto steep = a > b;
  const VecD ratio = select<VecD>(steep, b, a) / select<VecD>(steep, a, b);
  const VecD same = select<VecD>(a == 0.0, VecD{}, VecD{} + 1.0);  // zeros and infinities, too
  const VecD part = atan_to_one(select<VecD>(a == b, same, ratio));
  const VecD right = select<VecD>(steep, kHalfPi - part, part);
  const auto left = copysign(VecD{} + 1.0, x) < 0.0;
  return copysign(select<VecD>(left, 2.0 * kHalfPi - right, right), y);
}

// Where the logarithm of nearly 1 would cancel, the first terms of the series.
TL_INLINE VecD asinh(VecD x) {
  const VecD size = abs(x), z = x * x;
  const VecD series = size * polynomial(z, 3.0 / 40, -1.0 / 6, 1.0);
  const VecD value = log(size + sqrt(z + 1.0));
  return copysign(select<VecD>(size < 0.01, series, value), x);
}
TL_INLINE VecD acosh(VecD x) {
  return select<VecD>(x < 1.0, VecD{} + std::numeric_limits<double>::quiet_NaN(),
                      log(x + sqrt((x - 1.0) * (x + 1.0))));
}
TL_INLINE VecD atanh(VecD x) {
  const VecD size = abs(x), z = x * x;
  const VecD series = size * polynomial(z, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0);
  const VecD value = 0.5 * log((1.0 + size) / (1.0 - size));
  return copysign(select<VecD>(size < 0.03, series, value), x);
}

// sin(pi x) / (pi x)
TL_INLINE VecD sinc(VecD x) {
  const VecD angle = x * (2.0 * kHalfPi);
  return select<VecD>(x == 0.0, VecD{} + 1.0, sin_quarters(angle, 0) / angle);
}
TL_INLINE VecD hypot(VecD x, VecD y) { return sqrt(fma(x, x, y * y)); }

}  // namespace brief

// Stirling's series stands from 8 on; what is smaller is taken there by gamma(x + 1) = x gamma(x).
TL_INLINE VecD positive_lgamma(VecD x) {
  const auto small = x < 8.0;
  VecD product = x;
  for (int k = 1; k < 8; ++k) product *= x + static_cast<double>(k);
  const VecD z = select<VecD>(small, x + 8.0, x), r = 1.0 / z;
  const VecD series =
      r * polynomial(r * r, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12);
  const VecD value = (z - 0.5) * log(z) - z + 0.91893853320467274178 + series;
  return value - log(select<VecD>(small, product, VecD{} + 1.0));
}
TL_INLINE VecD positive_digamma(VecD x) {
  const auto small = x < 8.0;
  VecD product = x, derivative = VecD{} + 1.0;
  for (int k = 1; k < 8; ++k) {
    const VecD next = x + static_cast<double>(k);
    derivative = fma(derivative, next, product);
    product *= next;
  }
  const VecD z = select<VecD>(small, x + 8.0, x), r = 1.0 / z, w = r * r;
  const VecD series =
      w * polynomial(w, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12);
  return log(z) - 0.5 * r - series - select<VecD>(small, derivative / product, VecD{});
}
template <class F, class One>
TL_INLINE VecF of_positive(VecF x, F f, One one) {
  const VecF fast = in_double(x, f);
  const auto other = ~((x > 0.0f) & (x < std::numeric_limits<float>::infinity()));
  if (!any(other)) [[likely]]
    return fast;
  return select<VecF>(other, map(x, [&](float v) { return static_cast<float>(one(v)); }), fast);
}
TL_INLINE VecF lgamma(VecF x) {
  return of_positive(
      x, [](VecD v) { return positive_lgamma(v); }, [](float v) { return special::lgamma(v); });
}
TL_INLINE VecF digamma(VecF x) {
  return of_positive(
      x, [](VecD v) { return positive_digamma(v); }, [](float v) { return special::digamma(v); });
}
TL_INLINE VecD lgamma(VecD x) {
  return map(x, [](double v) { return special::lgamma(v); });
}
TL_INLINE VecD digamma(VecD x) {
  return map(x, [](double v) { return special::digamma(v); });
}

#ifdef __FMA__
TL_INLINE VecF tan_reduced(VecF x) {
  const Quarters q = quarters_of(x, 0);
  const auto odd = (q.count & 1) != 0;
  const VecF s = sine_of(q), c = cosine_of(q);
  return select<VecF>(odd, -c, s) / select<VecF>(odd, s, c);
}
#else
TL_INLINE VecF tan_reduced(VecF x) {
  return in_double(x, [](VecD v) { return brief::tan(v); });
}
#endif
TL_INLINE VecF tan(VecF x) {
  return of_angle(
      x, select<VecF>(x == 0.0f, x, tan_reduced(x)), [](VecD v) { return brief::tan(v); },
      [](float v) { return std::tan(v); });
}
// ---- inverse circular functions in float ------------------------------------------------------------------
constexpr float kHalfPi = 0x1.921fb6p0f, kHalfPiRest = -0x1.777a5cp-25f;

// a quarter turns + y + y * part, where a is 0 or a quarter turn is larger than y
TL_INLINE VecF plus_quarters(VecF quarters, VecF y, VecF part) {
  const VecF start = quarters * kHalfPi, sum = start + y, lost = y - (sum - start);
  return sum + fma(y, part, fma(quarters, VecF{} + kHalfPiRest, lost));
}
// What asin(s) / s exceeds 1 by for s <= 1/2, of which z is the square.
TL_INLINE VecF asin_part(VecF z) {
  return z * polynomial(z, 0x1.595c6p-5f, 0x1.8c3e5p-6f, 0x1.747bb8p-5f, 0x1.330204p-4f, 0x1.5555c8p-3f);
}
// Beyond 1/2 from the half angle: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
TL_INLINE VecF asin(VecF x) {
  const VecF size = abs(x);
  const auto large = size > 0.5f;
  const VecF z = select<VecF>(large, 0.5f - 0.5f * size, size * size);
  const VecF y = select<VecF>(large, -2.0f * sqrt(z), size),
             quarters = select<VecF>(large, VecF{} + 1.0f, VecF{});
  return copysign(plus_quarters(quarters, y, asin_part(z)), x);
}
TL_INLINE VecF acos(VecF x) {
  const VecF size = abs(x);
  const auto large = size > 0.5f;
  const VecF z = select<VecF>(large, 0.5f - 0.5f * size, size * size);
  const VecF y = select<VecF>(large, copysign(2.0f * sqrt(z), x), -x);
  const VecF far = select<VecF>(x < 0.0f, VecF{} + 2.0f, VecF{});
  return plus_quarters(select<VecF>(large, far, VecF{} + 1.0f), y, asin_part(z));
}
TL_INLINE VecF atan(VecF x) {
  const VecF size = abs(x);
  const auto large = size > 1.0f;
  const VecF y = select<VecF>(large, -1.0f / size, size), z = y * y;
  const VecF p = polynomial(z, 0x1.7eb1a4p-9f, -0x1.0c1c26p-6f, 0x1.61f14p-5f, -0x1.35519p-4f, 0x1.b4dedep-4f,
                            -0x1.230a96p-3f, 0x1.9978ecp-3f, -0x1.5554dcp-2f);
  return copysign(plus_quarters(select<VecF>(large, VecF{} + 1.0f, VecF{}), y, z * p), x);
}

// ---- erfc and the inverse of erf in float -----------------------------------------------------------------
// exp(-x^2), of which the square comes in two parts, times t = 1 / (1 + x/2) and a polynomial in it that
// makes up for t's error; up to where float ends.
TL_INLINE VecF erfc(VecF x) {
  const VecF size = at_most(abs(x), 10.25f), upper = bitcast<VecF>(bitcast<VecI>(size) & -0x1000);
  const VecF square = upper * upper, lost = (size - upper) * (size + upper);
  const VecF n = nearest_whole(square, -0x1.715476p0f);
  const VecF r = fma(n, VecF{} - 0x1.7f7d1cp-20f, fma(n, VecF{} - 0x1.62e4p-1f, -square) - lost);
  const VecF q =
      polynomial(r, 0x1.6a21a8p-10f, 0x1.123b6ap-7f, 0x1.5558fcp-5f, 0x1.555490p-3f, 0x1.fffffcp-2f);
  const VecF whole = fma(size, VecF{} + 0.5f, VecF{} + 1.0f), rest = fma(size, VecF{} + 0.5f, 1.0f - whole);
  const VecF t = rough_inverse(whole), wrong = fma(-t, rest, fma(-t, whole, VecF{} + 1.0f));
  const VecF p = polynomial(fma(t, wrong, t - 0.5f), 0x1.740a5cp-7f, -0x1.14c24cp-4f, 0x1.7f3cdap-5f,
                            0x1.8e9b00p-4f, -0x1.a5f1a2p-4f, -0x1.6049c2p-3f, 0x1.2a7d70p-3f, 0x1.1e2dbep-1f,
                            0x1.5fd38cp-1f, 0x1.058672p-1f);
  const VecF scaled = t * fma(p, wrong, p);
  const VecF tail = scale<VecF>(fma(fma(r * r, q, r), scaled, scaled), n);
  return select<VecF>(x < 0.0f, 2.0f - tail, tail);
}
// x times a function of w = -log(1 - x^2) that hardly bends.
TL_INLINE VecF erfinv(VecF x) {
  const VecF w = -log((1.0f - x) * (1.0f + x));
  const VecF centre = polynomial(w, 0x1.1179e6p-30f, -0x1.2cf784p-25f, 0x1.1540b6p-21f, -0x1.008d84p-18f,
                                 0x1.7035d0p-17f, 0x1.d8b072p-16f, -0x1.b4b0dap-14f, -0x1.347550p-9f,
                                 0x1.7aaeccp-7f, 0x1.db296ap-3f, 0x1.c5bf8ap-1f);
  if (!any(w >= 6.0f)) [[likely]]
    return x * centre;
  const VecF tail =
      polynomial(sqrt(w) - 3.25f, -0x1.e02e5cp-13f, 0x1.e9929ep-11f, -0x1.cd8f56p-10f, 0x1.4852e6p-9f,
                 -0x1.e9a086p-9f, 0x1.5fdd36p-8f, 0x1.015898p+0f, 0x1.8abcc4p+1f);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  return x * select<VecF>(w < 6.0f, centre, select<VecF>(w == infinity, w, tail));
}

// About its zeros, the integers, too: sine is taken of the distance to the nearest, which is exact.
TL_INLINE double sinc_of_one(double x) {
  constexpr double pi = 2 * brief::kHalfPi;
  const double whole = std::nearbyint(x), wave = std::sin(pi * (x - whole)) / (pi * x);
  const bool even = std::nearbyint(whole / 2) == whole / 2;
  return x == 0 ? 1 : even ? wave : -wave;
}
TL_INLINE VecF sinc(VecF x) {
  const VecF fast = in_double(x, [](VecD v) { return brief::sinc(v); });
  const auto far = abs(x) > 1e6f;
  if (!any(far)) [[likely]]
    return fast;
  return select<VecF>(far, map(x, [](float v) { return static_cast<float>(sinc_of_one(v)); }), fast);
}
#ifdef __FMA__
// Far away, where the bits have no parity, the distance is zero.
TL_INLINE VecD sinc(VecD x) {
  constexpr double pi = 2 * brief::kHalfPi;
  const VecD whole = round_even(x), half = 0.5 * whole, wave = sin_quarters(pi * (x - whole), 0) / (pi * x);
  const VecD value = select<VecD>(round_even(half) == half, wave, -wave);
  return select<VecD>(x == 0.0, VecD{} + 1.0, value);
}
#else
TL_INLINE VecD sinc(VecD x) { return map(x, sinc_of_one); }
#endif
// Infinite if either side is, even beside a NaN.
TL_INLINE VecF hypot(VecF x, VecF y) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const VecF length = in_double(x, y, [](VecD a, VecD b) { return brief::hypot(a, b); });
  return select<VecF>((abs(x) == infinity) | (abs(y) == infinity), VecF{} + infinity, length);
}
TL_INLINE VecD hypot(VecD x, VecD y) {
  return map(x, y, [](double a, double b) { return std::hypot(a, b); });
}
TL_INLINE VecF atan2(VecF y, VecF x) {
  return in_double(y, x, [](VecD a, VecD b) { return brief::atan2(a, b); });
}
#define TL_FLOAT_IN_DOUBLE(name)                                \
  TL_INLINE VecF name(VecF x) {                                 \
    return in_double(x, [](VecD v) { return brief::name(v); }); \
  }
#define TL_BY_LANE(name)                                  \
  TL_INLINE VecD name(VecD x) {                           \
    return map(x, [](double v) { return std::name(v); }); \
  }
#define TL_BOTH(name)      \
  TL_FLOAT_IN_DOUBLE(name) \
  TL_BY_LANE(name)
TL_BOTH(asinh)
TL_BOTH(acosh)
TL_FLOAT_IN_DOUBLE(atanh)
#undef TL_BOTH
#undef TL_BY_LANE
#undef TL_FLOAT_IN_DOUBLE

// log(exp(x) + exp(y)), and the same to base two: the larger one and what the other adds. Equal infinities,
// which have no distance, are their own sum.
template <class V>
TL_INLINE V log_add_exp(V x, V y) {
  const V larger = select<V>(x > y, x, y), apart = abs(x - y);
  const V sum = larger + log1p(exp(-apart));
  return select<V>(is_nan(x) | is_nan(y), x + y, select<V>(x == y, x + Lane<V>(0.6931471805599453), sum));
}
template <class V>
TL_INLINE V log_add_exp2(V x, V y) {
  const V larger = select<V>(x > y, x, y), apart = abs(x - y);
  const V sum = larger + log1p(exp2(-apart)) * Lane<V>(1.4426950408889634);
  return select<V>(is_nan(x) | is_nan(y), x + y, select<V>(x == y, x + Lane<V>(1), sum));
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

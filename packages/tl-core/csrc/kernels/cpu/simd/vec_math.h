// Elementary functions of vectors. In float at most about 1 unit in the last place off (2: logarithms to
// other bases, inverse circular functions; 2.5: sigmoid, tan, tanh), in double as well; infinities, NaN,
// denormals and signed zeros come out as IEEE 754 says. What has no vector form goes lane by lane through
// libm.
//
// Polynomials were fitted to minimise the largest relative error over the stated interval.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>

#include "kernels/cpu/simd/log_tables.h"
#include "kernels/cpu/simd/polynomial.h"
#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// ---- powers of two ----------------------------------------------------------------------------------------
// 2^n for whole |n| within half the exponent range: adding `shift` leaves n, biased, in the low bits.
TL_INLINE VecF exp2_whole(VecF n) { return bitcast<VecF>(bitcast<VecI>(n + (0x1.8p23f + 127.0f)) << 23); }
TL_INLINE VecD exp2_whole(VecD n) { return bitcast<VecD>(bitcast<VecL>(n + (0x1.8p52 + 1023.0)) << 52); }

// The whole number nearest to x * by, of which the size is below 2^22: its sum with `shift` has no room for a
// fraction.
template <class V>
TL_INLINE V nearest_whole(V x, Lane<V> by) {
  constexpr Lane<V> shift = sizeof(Lane<V>) == 4 ? Lane<V>(0x1.8p23) : Lane<V>(0x1.8p52);
  return fma(x, V{} + by, V{} + shift) - shift;
}

// x * 2^n, rounded once even where the result is denormal.
template <class V>
TL_INLINE V scale(V x, V n) {
#if TL_ISA_LEVEL >= 4
  if constexpr (std::is_same_v<V, VecF>)
    return _mm512_scalef_ps(x, n);
  else
    return _mm512_scalef_pd(x, n);
#else
  const V half = round_even(n * Lane<V>(0.5));
  return x * exp2_whole(half) * exp2_whole(n - half);
#endif
}

// x between bounds; a NaN stays.
template <class V>
TL_INLINE V within(V x, Lane<V> low, Lane<V> high) {
#if TL_ISA_LEVEL >= 4
  if constexpr (std::is_same_v<V, VecF>)
    return _mm512_min_ps(VecF{} + high, _mm512_max_ps(VecF{} + low, x));
  else
    return _mm512_min_pd(VecD{} + high, _mm512_max_pd(VecD{} + low, x));
#else
  return select<V>(x > high, V{} + high, select<V>(x < low, V{} + low, x));
#endif
}

// x but not above a bound; a NaN stays.
TL_INLINE VecF at_most(VecF x, float high) {
#if TL_ISA_LEVEL >= 4
  return _mm512_min_ps(VecF{} + high, x);
#else
  return select<VecF>(x > high, VecF{} + high, x);
#endif
}

// ---- exp --------------------------------------------------------------------------------------------------
// From where on results are zero at once: processors take a hundred cycles for one that is near a denormal.
template <class T>
inline constexpr T kFarBelow =
    kIsaLevel >= 4 ? (sizeof(T) == 4 ? -700 : -3500) : (sizeof(T) == 4 ? -170 : -1400);

TL_INLINE VecF exp(VecF x) {
  const VecF bounded = within(x, kFarBelow<float>, 89.0f);
  const VecF n = nearest_whole(bounded, 0x1.715476p0f);
  VecF r = fma(n, VecF{} - 0x1.62e4p-1f, bounded);  // ln 2 in two parts, the first with room for n
  r = fma(n, VecF{} - 0x1.7f7d1cp-20f, r);
  const VecF q =
      polynomial(r, 0x1.6a21a8p-10f, 0x1.123b6ap-7f, 0x1.5558fcp-5f, 0x1.555490p-3f, 0x1.fffffcp-2f);
  return scale<VecF>(fma(r * r, q, r) + 1.0f, n);
}

// exp(x) - 1 for x between -87 and 88.
TL_INLINE VecF expm1_between(VecF x) {
  const VecF shifted = fma(x, VecF{} + 0x1.715476p0f, VecF{} + (0x1.8p23f + 127.0f));
  const VecF n = shifted - (0x1.8p23f + 127.0f), s = bitcast<VecF>(bitcast<VecI>(shifted) << 23);
  VecF r = fma(n, VecF{} - 0x1.62e4p-1f, x);
  r = fma(n, VecF{} - 0x1.7f7d1cp-20f, r);
  const VecF q =
      polynomial(r, 0x1.6b9c5ap-10f, 0x1.122544p-7f, 0x1.5556f2p-5f, 0x1.5554b4p-3f, 0x1.fffffep-2f);
  return fma(s, fma(r * r, q, r), s - 1.0f);
}

TL_INLINE VecD exp_reduced(VecD r, VecD n) {
  const VecD q = polynomial(r, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                            1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5);
  return scale<VecD>(fma(r * r, q, r) + 1.0, n);
}
TL_INLINE VecD exp(VecD x) {
  const VecD bounded = within(x, kFarBelow<double>, 710.0);
  const VecD n = nearest_whole(bounded, 0x1.71547652b82fep0);
  const VecD r = fma(n, VecD{} - 0x1.62e42feep-1, bounded);
  return exp_reduced(fma(n, VecD{} - 0x1.a39ef35793c76p-33, r), n);
}

// ---- log --------------------------------------------------------------------------------------------------
// x = m 2^k with m between sqrt(1/2) and sqrt(2). With AVX-512 what has no logarithm comes apart so that its
// parts lead to the right end: infinity and zero have an infinite k, a negative number's m is NaN.
#if TL_ISA_LEVEL >= 4
TL_INLINE void split_exponent(VecF x, VecF& m, VecF& k) {
  const VecF whole = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan), power = _mm512_getexp_ps(x);
  const auto upper = whole >= 0x1.6a09e6p0f;
  m = select<VecF>(upper, whole * 0.5f, whole);
  k = select<VecF>(upper, power + 1.0f, power);
}
TL_INLINE void split_exponent(VecD x, VecD& m, VecD& k) {
  const VecD whole = _mm512_getmant_pd(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan), power = _mm512_getexp_pd(x);
  const auto upper = whole >= 0x1.6a09e667f3bcdp0;
  m = select<VecD>(upper, whole * 0.5, whole);
  k = select<VecD>(upper, power + 1.0, power);
}
#else
TL_INLINE void split_exponent(VecF x, VecF& m, VecF& k) {
  const auto tiny = x < std::numeric_limits<float>::min();
  using U = VecOf<uint32_t, kVecBytes>::type;  // the difference may wrap
  const VecI bits = bitcast<VecI>(bitcast<U>(select<VecF>(tiny, x * 0x1p24f, x)) - 0x3f3504f3u);
  k = __builtin_convertvector(bits >> 23, VecF) - select<VecF>(tiny, VecF{} + 24.0f, VecF{});
  m = bitcast<VecF>((bits & 0x007fffff) + 0x3f3504f3);
}
TL_INLINE void split_exponent(VecD x, VecD& m, VecD& k) {
  const auto tiny = x < std::numeric_limits<double>::min();
  // Unsigned: the difference may wrap, and the shift must be a logical one, as there is no other before
  // AVX-512.
  using U = VecOf<uint64_t, kVecBytes>::type;
  const U bits = bitcast<U>(select<VecD>(tiny, x * 0x1p54, x)) - (0x3fe6a09e667f3bcdULL - (1024ULL << 52));
  const VecL biased = bitcast<VecL>(bits >> 52);
  k = bitcast<VecD>(biased | 0x4338000000000000LL) - (0x1.8p52 + 1024.0) -
      select<VecD>(tiny, VecD{} + 54.0, VecD{});
  m = bitcast<VecD>((bits & 0x000fffffffffffffULL) + 0x3fe6a09e667f3bcdULL);
}
#endif

// Puts the values outside the positive finite numbers right.
template <class V>
TL_INLINE V log_edges(V x, V result) {
  constexpr Lane<V> infinity = std::numeric_limits<Lane<V>>::infinity();
  result = select<V>(x < infinity, result, x);  // inf and NaN are their own logarithms
  result = select<V>(x == 0, V{} - infinity, result);
  return select<V>(x < 0, V{} + std::numeric_limits<Lane<V>>::quiet_NaN(), result);
}

// The same of a result that was put together from split_exponent's parts.
template <class V>
TL_INLINE V log_ends(V x, V result) {
  return TL_ISA_LEVEL >= 4 ? result : log_edges<V>(x, result);
}

// What log(1 + f) + more exceeds f by, for f between sqrt(1/2) - 1 and sqrt(2) - 1.
TL_INLINE VecF log_rest(VecF f, VecF more) {
  const VecF square = f * f;
  const VecF p = polynomial(f, 0x1.14573ep-4f, -0x1.de3bf8p-4f, 0x1.e6f08cp-4f, -0x1.fc220ep-4f,
                            0x1.233766p-3f, -0x1.555c4ep-3f, 0x1.99a4b6p-3f, -0x1.000006p-2f, 0x1.555548p-2f);
  return fma(square, VecF{} - 0.5f, fma(square * f, p, more));
}
// log(1 + f) + k log 2 + more
TL_INLINE VecF log_assemble(VecF f, VecF k, VecF more) {
  return fma(k, VecF{} + 0x1.62e4p-1f, f + log_rest(f, fma(k, VecF{} + 0x1.7f7d1cp-20f, more)));
}
TL_INLINE VecF log(VecF x) {
#if TL_ISA_LEVEL >= 4
  return log_by<kLogE>(x);
#else
  VecF m, k;
  split_exponent(x, m, k);
  return log_edges<VecF>(x, log_assemble(m - 1.0f, k, VecF{}));
#endif
}
TL_INLINE VecF log1p(VecF x) {
  const VecF whole = 1.0f + x, lost = x - (whole - 1.0f);
  VecF m, k;
  split_exponent(whole, m, k);
  const auto whole_x = k == 0.0f;  // x is used as it is; elsewhere what rounding took from 1 + x comes back
  const VecF result =
      log_assemble(select<VecF>(whole_x, x, m - 1.0f), k, select<VecF>(whole_x, VecF{}, lost / whole));
  return copysign(log_edges<VecF>(whole, result), x);
}

// log(1 + f) + k log 2 + more
TL_INLINE VecD log_assemble(VecD f, VecD k, VecD more) {
  const VecD s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  const VecD p = z * polynomial(z, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3);
  const VecD tail = half_square - fma(s, half_square + p, fma(k, VecD{} + 0x1.a39ef35793c76p-33, more));
  return k * 0x1.62e42feep-1 - (tail - f);
}
TL_INLINE VecD log(VecD x) {
  VecD m, k;
  split_exponent(x, m, k);
  return log_ends(x, log_assemble(m - 1.0, k, VecD{}));
}

// ---- tanh, sigmoid, erf -----------------------------------------------------------------------------------
// (e^2x - 1) / (e^2x + 1)
TL_INLINE VecF tanh(VecF x) {
  const VecF grown = expm1_between(at_most(abs(x), 20.0f) * 2.0f);
  return copysign(grown / (grown + 2.0f), x);
}
TL_INLINE VecD tanh(VecD x) {
  const VecD size = abs(x), z = x * x;
  const VecD p = polynomial(
      z, 0x1.b028f6cb72ebfp-26, -0x1.1ab979c0ab58cp-22, 0x1.7238a0a7e22b6p-20, -0x1.4eb911dcd9788p-18,
      0x1.ea19b73b128d8p-17, -0x1.42090e21d3d28p-15, 0x1.94981e5bdbe6fp-14, -0x1.f5211730ee038p-13,
      0x1.3551ae34bdfffp-11, -0x1.7da2bdc3daa27p-10, 0x1.d6d3c538d0bbep-9, -0x1.226e3519865dfp-7,
      0x1.664f4880d2a47p-6, -0x1.ba1ba1ba1453ep-5, 0x1.11111111110b9p-3, -0x1.5555555555555p-2);
  const VecD large = 1.0 - 2.0 / (exp(size + size) + 1.0);
  return copysign(select<VecD>(size < 1.0, fma(x * z, p, x), large), x);
}
TL_INLINE VecF sigmoid(VecF x) { return 1.0f / (1.0f + exp(-x)); }
TL_INLINE VecD sigmoid(VecD x) { return 1.0 / (1.0 + exp(-x)); }

TL_INLINE VecF erf(VecF x) {
  const VecF size = abs(x), z = x * x;
  const VecF p = polynomial(z, 0x1.d3ca66p-21f, -0x1.b5ddc4p-17f, 0x1.eeb930p-14f, -0x1.bf0be4p-11f,
                            0x1.5649e2p-8f, -0x1.b82ba2p-6f, 0x1.ce2f16p-4f, -0x1.812746p-2f, 0x1.06eba8p-3f);
  const VecF bounded = select<VecF>(size > 4.0f, VecF{} + 4.0f, size);
  const VecF log_rest =
      polynomial(bounded, -0x1.5ecddap-16f, 0x1.c54d74p-12f, -0x1.10aa10p-8f, 0x1.9b195ep-6f, -0x1.bb5652p-4f,
                 -0x1.444b42p-1f, -0x1.212698p+0f, 0x1.65ac6ap-13f);
  const VecF large = copysign(1.0f - exp(log_rest), x);
  return select<VecF>(size < 1.0f, fma(x, p, x), select<VecF>(is_nan(x), x, large));
}

// x^y from |x|^y: signs, and what has no logarithm.
TL_INLINE VecD pow_ends(VecD x, VecD y, VecD result) {
  const VecD whole = round_even(y), half = round_even(y * 0.5);
  const auto negative = bitcast<VecL>(x) < 0, odd = (whole == y) & (half + half != y);
  VecD out = select<VecD>(negative & odd, -result, result);
  const auto unreal = (x < 0.0) & (whole != y) & (x > -std::numeric_limits<double>::infinity());
  out = select<VecD>(unreal, VecD{} + std::numeric_limits<double>::quiet_NaN(), out);
  const auto one =
      (y == 0.0) | (x == 1.0) | ((x == -1.0) & (abs(y) == std::numeric_limits<double>::infinity()));
  return select<VecD>(one, VecD{} + 1.0, out);
}

// ---- float functions computed in double: polynomials need only a float's accuracy -------------------------
namespace brief {  // relative error below 1e-9

TL_INLINE VecD exp(VecD x) {
  const VecD bounded = within(x, -746.0, 710.0);
  const VecD n = nearest_whole(bounded, 0x1.71547652b82fep0);
  const VecD r = fma(n, VecD{} - 0x1.62e42fefa39efp-1, bounded);
  const VecD q =
      polynomial(r, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5);
  return scale<VecD>(fma(r * r, q, r) + 1.0, n);
}
TL_INLINE VecD log(VecD x) {
  VecD m, k;
  split_exponent(x, m, k);
  const VecD f = m - 1.0, s = f / (2.0 + f), z = s * s;
  const VecD p = polynomial(z, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0);
  return log_ends(x, fma(k, VecD{} + 0x1.62e42fefa39efp-1, s * p));
}
TL_INLINE VecD expm1(VecD x) {
  const VecD p = polynomial(x, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                            1.0 / 24, 1.0 / 6, 0.5);
  return select<VecD>(abs(x) < 0.35, fma(x * x, p, x), exp(x) - 1.0);
}
TL_INLINE VecD sinh(VecD x) {
  const VecD size = abs(x), e = expm1(size);
  const VecD value = 0.5 * (e + e / (e + 1.0));
  return copysign(select<VecD>(size > 90.0, e, value), x);
}
TL_INLINE VecD cosh(VecD x) {
  const VecD e = exp(abs(x));
  return 0.5 * (e + 1.0 / e);
}

// sin(x + quarters * pi/2) for |x| up to kFarAngle, which is a float.
TL_INLINE VecD sin_quarters(VecD x, double quarters) {
  constexpr double magic = 0x1.8p52;
  const VecD shifted =
      fma(x, VecD{} + 0x1.45f306dc9c883p-1, VecD{} + magic);  // 2/pi; the low bits count quarter turns
  const VecD n = shifted - magic;
#ifdef __FMA__
  VecD r = fma(n, VecD{} - 0x1.921fb54442d18p0, x);  // exact: both are multiples of the same power of two
  r = fma(n, VecD{} - 0x1.1a62633145c07p-54, r);
#else
  VecD r = fma(n, VecD{} - 0x1.921fb544p0, x);  // pi/2 with 33 bits: the product is exact
  r = fma(n, VecD{} - 0x1.0b4611a626331p-34, r);
#endif
  const VecL quarter = bitcast<VecL>(shifted + quarters);
  const VecD z = r * r;
  const VecD sine =
      fma(r * z, polynomial(z, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6), r);
  const VecD cosine =
      polynomial(z, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0);
  const VecD value = select<VecD>((quarter & 1) != 0, cosine, sine);
  return bitcast<VecD>(bitcast<VecL>(value) ^ ((quarter & 2) << 62));
}

// x^y for float operands.
TL_INLINE VecD pow(VecD x, VecD y) { return pow_ends(x, y, exp(y * log(abs(x)))); }

}  // namespace brief

// ---- angles in float --------------------------------------------------------------------------------------
constexpr float kReducedAngle = 8192;

#ifdef __FMA__
constexpr float kFarAngle = 0x1p45f;
// An angle up to kReducedAngle as quarter turns and what is left of it, the sum of two numbers. pi/2 comes in
// three parts, of which the products with the first two cancel without a rounding where little is left.
struct Quarters {
  VecF left, rest;
  VecI count;
};
TL_INLINE Quarters quarters_of(VecF x, int quarters) {
  constexpr float magic = 0x1.8p23f;
  const VecF shifted = fma(x, VecF{} + 0x1.45f306p-1f, VecF{} + magic), n = shifted - magic;
  const VecF first = fma(n, VecF{} - 0x1.921fb6p0f, x), low = VecF{} + 0x1.778p-25f;
  const VecF left = fma(n, low, first);
  const VecF rest = fma(n, VecF{} - 0x1.68c234p-39f, fma(n, low, first - left));
  return {left, rest, bitcast<VecI>(shifted) + quarters};
}
TL_INLINE VecF sine_of(const Quarters& q) {
  const VecF z = q.left * q.left;
  const VecF p = polynomial(z, -0x1.991c1ep-13f, 0x1.1106c6p-7f, -0x1.555544p-3f);
  return q.left + fma(q.left * z, p, q.rest);
}
TL_INLINE VecF cosine_of(const Quarters& q) {
  const VecF z = q.left * q.left, half = 0.5f * z, most = 1.0f - half;
  const VecF p = polynomial(z, 0x1.99e336p-16f, -0x1.6c0c1ep-10f, 0x1.55554ap-5f);
  return most + (fma(z * z, p, (1.0f - most) - half) - q.left * q.rest);
}
TL_INLINE VecF sin_quarters(VecF x, int quarters) {
  const Quarters q = quarters_of(x, quarters);
  const VecF value = select<VecF>((q.count & 1) != 0, cosine_of(q), sine_of(q));
  return bitcast<VecF>(bitcast<VecI>(value) ^ ((q.count & 2) << 30));
}
#else
constexpr float kFarAngle = 4e6f;
TL_INLINE VecF sin_quarters(VecF x, int quarters) {
  return in_double(x, [=](VecD v) { return brief::sin_quarters(v, quarters); });
}
#endif

// Angles too far for the fast reduction go through double, those too far for that through the library; lane
// by lane, as a value must not depend on its neighbours.
template <class Wide, class F>
[[gnu::noinline]] VecF far_angle(VecF x, VecF reduced, Wide wide, F library) {
  const VecF far = select<VecF>(abs(x) > kReducedAngle, in_double(x, wide), reduced);
  if (!any(abs(x) > kFarAngle)) return far;
  return select<VecF>(abs(x) > kFarAngle, map(x, library), far);
}
template <class Wide, class F>
TL_INLINE VecF of_angle(VecF x, VecF reduced, Wide wide, F library) {
  if (any(abs(x) > kReducedAngle)) [[unlikely]]
    return far_angle(x, reduced, wide, library);
  return reduced;
}
TL_INLINE VecF sin(VecF x) {
  return of_angle(
      x, select<VecF>(x == 0.0f, x, sin_quarters(x, 0)), [](VecD v) { return brief::sin_quarters(v, 0); },
      [](float v) { return std::sin(v); });
}
TL_INLINE VecF cos(VecF x) {
  return of_angle(
      x, sin_quarters(x, 1), [](VecD v) { return brief::sin_quarters(v, 1); },
      [](float v) { return std::cos(v); });
}
TL_INLINE VecF expm1(VecF x) {
  return copysign(in_double(x, [](VecD v) { return brief::expm1(v); }), x);
}
TL_INLINE VecF sinh(VecF x) {
  return in_double(x, [](VecD v) { return brief::sinh(v); });
}
TL_INLINE VecF cosh(VecF x) {
  return in_double(x, [](VecD v) { return brief::cosh(v); });
}
// The exponents people use most, without a logarithm; what they give may not depend on neighbouring lanes.
template <class V, class General>
TL_INLINE V pow_by(V x, V y, General general) {
  using L = Lane<V>;
  const L first = y[0];
  if (!any(y != broadcast<V>(first))) {
    if (first == L(2)) return x * x;
    if (first == L(3)) return x * x * x;
    if (first == L(-1)) return L(1) / x;
  }
  V out = general(x, y);
  out = select<V>(y == L(2), x * x, out);
  out = select<V>(y == L(3), x * x * x, out);
  return select<V>(y == L(-1), L(1) / x, out);
}
TL_INLINE VecF pow(VecF x, VecF y) {
  return pow_by(
      x, y, [](VecF a, VecF b) { return in_double(a, b, [](VecD c, VecD d) { return brief::pow(c, d); }); });
}
TL_INLINE VecF fmod(VecF x, VecF y) {
  return map(x, y, [](float a, float b) { return std::fmod(a, b); });
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// Modified Bessel functions of vectors: piecewise polynomials of what is left of them without exponential and
// root, and series of K next to 0. "DLMF" is the NIST Digital Library of Mathematical Functions.
#pragma once

#include "kernels/cpu/elementwise/piecewise.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace bessel {
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// exp(-x) I(x) for x >= 0. From 8 on its product with sqrt(x), which the asymptotic series DLMF 10.40.1 shows
// to be smooth in 1 / x.
template <int order>
[[gnu::noinline]] inline VecD scaled_i(VecD x) {
  const auto far = x >= 8.0;
  VecD coordinate = x, factor = order ? x : VecD{} + 1.0;
  if (any(far)) {
    coordinate = select<VecD>(far, 16.0 - 64.0 / x, x);
    factor = select<VecD>(far, 1.0 / sqrt(x), factor);
  }
  return piecewise_from_zero(order ? special::kScaledI1 : special::kScaledI0, coordinate) * factor;
}

// Times exp(x), which overflows earlier than the product.
template <int order>
[[gnu::noinline]] inline VecD plain_i(VecD x) {
  constexpr double kShift = 64, kExpShift = 6.23514908081161688291e27;
  const auto far = x > 700.0;
  const VecD product = exp(select<VecD>(far, x - kShift, x)) * scaled_i<order>(x);
  return select<VecD>(x == kInfinity, x, select<VecD>(far, product * kExpShift, product));
}

// 1 / (k! (k + order)!), and with H_k = 1 + 1/2 + ... + 1/k, the same times H_k or, for order 1, times
// (H_k + H_(k+1)) / 2.
template <int order>
struct Series {
  static constexpr int kTerms = 10;  // for x up to 1
  double plain[kTerms], harmonic[kTerms];
  constexpr Series() : plain{}, harmonic{} {
    double value = 1, sum = 0, next = 1;
    for (int k = 0; k < kTerms; ++k) {
      plain[k] = value;
      harmonic[k] = value * (order ? (sum + next) / 2 : sum);
      value /= (k + 1.0) * (k + 1.0 + order);
      sum = next;
      next += 1 / (k + 2.0);
    }
  }
  static TL_INLINE VecD at(const double (&of)[kTerms], VecD x) {
    VecD value = VecD{} + of[kTerms - 1];
    for (int k = kTerms - 2; k >= 0; --k) value = fma(value, x, VecD{} + of[k]);
    return value;
  }
};

// K up to 1: DLMF 10.31.2, whose terms are all positive below 1.12, and 10.31.1.
template <int order>
TL_INLINE VecD small_k(VecD x) {
  static constexpr Series<order> kSeries;
  constexpr double kEuler = 0.57721566490153286061;
  const VecD quarter = 0.25 * x * x, logarithm = log(0.5 * x) + kEuler;
  const VecD plain = kSeries.at(kSeries.plain, quarter), harmonic = kSeries.at(kSeries.harmonic, quarter);
  if constexpr (order == 0) return fma(-logarithm, plain, harmonic);
  return fma(0.5 * x, fma(logarithm, plain, -harmonic), 1.0 / x);
}

// K, or exp(x) K: from 1 on by sqrt(x) exp(x) K, smooth in 1 / x (DLMF 10.40.2).
template <int order, bool scaled>
[[gnu::noinline]] inline VecD k(VecD x) {
  const auto small = x <= 1.0;
  const VecD coordinate = 16.0 - 16.0 / x;
  VecD value = piecewise(order ? special::kScaledK1 : special::kScaledK0, coordinate) / sqrt(x);
  if (!scaled) value *= exp(-x);
  if (any(small)) {
    const VecD series = small_k<order>(x);
    value = select<VecD>(small, scaled ? series * exp(x) : series, value);
  }
  return select<VecD>(x == 0.0, VecD{} + kInfinity, select<VecD>(x < 0.0, VecD{} + kNaN, value));
}
}  // namespace bessel

namespace special_vectors {
TL_INLINE VecD i0(VecD x) { return bessel::plain_i<0>(abs(x)); }
TL_INLINE VecD i0e(VecD x) { return bessel::scaled_i<0>(abs(x)); }  // e: times exp(-|x|)
TL_INLINE VecD i1(VecD x) { return copysign(bessel::plain_i<1>(abs(x)), x); }
TL_INLINE VecD i1e(VecD x) { return copysign(bessel::scaled_i<1>(abs(x)), x); }
TL_INLINE VecD k0(VecD x) { return bessel::k<0, false>(x); }
TL_INLINE VecD k0e(VecD x) { return bessel::k<0, true>(x); }  // times exp(x)
TL_INLINE VecD k1(VecD x) { return bessel::k<1, false>(x); }
TL_INLINE VecD k1e(VecD x) { return bessel::k<1, true>(x); }
}  // namespace special_vectors

}  // namespace tl::cpu::TL_ISA_NAMESPACE

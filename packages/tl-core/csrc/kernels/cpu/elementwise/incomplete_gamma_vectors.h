// The regularized incomplete gamma functions of vectors: whichever of P and Q is smaller is computed, by
// terms of one sign; the other is one less it. "DLMF" is the NIST Digital Library of Mathematical Functions.
#pragma once

#include "kernels/cpu/elementwise/incomplete_gamma.h"
#include "kernels/cpu/elementwise/piecewise.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace incomplete_gamma {
// log(1 + y) - y, where 1 + y is also given: directly, or from the series of the inverse hyperbolic tangent.
TL_INLINE VecD log1p_rest(VecD y, VecD one_more) {
  const VecD r = y / (2.0 + y), z = r * r;
  VecD sum{};
  for (int k = 33; k > 1; k -= 2) sum = (sum + 1.0 / k) * z;
  return select<VecD>(abs(y) > 0.5, log(one_more) - y, r * (2.0 * sum - y));
}

// log(x^a / gamma(1 + a)) for a < 2.
TL_INLINE VecD small_exponent(VecD a, VecD log_x) {
  const Piece at = piece_of(8.0 * a);
  return a * (log_x - piecewise(special::kLogGammaRatio, at.which, a - 0.125 * (at.begin + 0.5)));
}

// x^a exp(-x) / gamma(a + 1), from a = 1 on by Stirling's formula (DLMF 5.11.1) and Loader's split of the
// exponent (2000), in which nothing large cancels.
[[gnu::noinline]] inline VecD prefactor(VecD a, VecD x) {
  const auto small = a < 1.0;
  VecD exponent = small_exponent(a, log(x)) - x, factor = VecD{} + 1.0;
  if (any(~small)) {
    const VecD inverse = 1.0 / a;
    const VecD main = a * log1p_rest((x - a) * inverse, x * inverse);
    const VecD split = main - piecewise(special::kStirlingRest, 16.0 * inverse) * inverse;
    exponent = select<VecD>(small, exponent, split);
    factor = select<VecD>(small, factor, sqrt(inverse * 0.15915494309189533577));
  }
  return exp(exponent) * factor;
}

// P / prefactor by DLMF 8.11.4, to a part `least` of the sum.
[[gnu::noinline]] inline VecD lower_series(VecD a, VecD x, double least) {
  VecD term = VecD{} + 1.0, sum = term;
  for (double n = 1;; ++n) {
    const auto going = term > least * sum;
    if (!any(going)) return sum;
    term *= x / (a + n);
    sum += select<VecD>(going, term, VecD{});
  }
}

// exp(x) - 1 for small x.
TL_INLINE VecD exp_less_one(VecD x) {
  const VecD p =
      polynomial(x, 1.0 / 87178291200, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5);
  return select<VecD>(abs(x) < 0.35, fma(x * x, p, x), exp(x) - 1.0);
}

// Q for small a and x: DLMF 8.7.3, with what cancels against one taken out of the sum.
[[gnu::noinline]] inline VecD upper_series(VecD a, VecD x, double least) {
  VecD term = VecD{} + 1.0, sum{};
  for (double n = 1;; ++n) {
    const auto going = abs(term) > least;
    if (!any(going)) break;
    term *= x * (-1 / n);
    sum -= select<VecD>(going, term / (a + n), VecD{});
  }
  const VecD exponent = small_exponent(a, log(x));
  return exp(exponent) * a * sum - exp_less_one(exponent);
}

// Q x^-a exp(x) gamma(a) by the continued fraction DLMF 8.9.2: forwards until its value no longer changes, by
// the modified method of Lentz (Thompson and Barnett 1986), then backwards, where rounding errors shrink.
[[gnu::noinline]] inline VecD upper_fraction(VecD a, VecD x) {
  const VecD first = x + 1.0 - a;
  VecD b = first, c = VecD{} + 1e300, d = 1.0 / b, step{}, terms = VecD{} + 1.0;
  double most = 1;
  for (; most < 1000; ++most) {
    const auto going = abs(step - 1.0) > 1e-16;
    if (!any(going)) break;
    const VecD numerator = most * (a - most);
    b += 2.0;
    d = 1.0 / (numerator * d + b);
    c = b + numerator / c;
    step = select<VecD>(going, c * d, step);
    terms = select<VecD>(going, VecD{} + (most + 1), terms);
  }
  VecD value{};
  for (double n = most; n > 0; --n) {
    const VecD next = n * (a - n) / (first + 2 * n + value);
    value = select<VecD>(terms >= n, next, value);
  }
  return 1.0 / (first + value);
}

// P or Q where neither is at an end, for a < 100.
TL_INLINE VecD plain(VecD a, VecD x, bool upper, double least) {
  const auto by_fraction = (x >= 1.5) & (x >= a + 1.0);
  const VecD front = prefactor(a, x);
  VecD value{}, is_upper = select<VecD>(by_fraction, VecD{} + 1.0, VecD{});
  if (any(~by_fraction)) {
    value = front * lower_series(a, select<VecD>(by_fraction, VecD{}, x), least);
    const auto by_upper = ~by_fraction & (value >= 0.7) & (x < 1.5);
    if (any(by_upper)) {
      value = select<VecD>(by_upper, upper_series(select<VecD>(by_upper, a, VecD{} + 1.0), x, least), value);
      is_upper = select<VecD>(by_upper, VecD{} + 1.0, is_upper);
    }
  }
  if (any(by_fraction)) {
    const VecD at = select<VecD>(by_fraction, x, VecD{} + 102.0);
    value = select<VecD>(by_fraction, front * a * upper_fraction(a, at), value);
  }
  return select<VecD>(is_upper == (upper ? 1.0 : 0.0), value, 1.0 - value);
}

// `least` is how small a part of a sum its last term is.
template <bool upper>
[[gnu::noinline]] inline VecD regularized(VecD a, VecD x, double least) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto inside = (a > 0.0) & (a < special::kLargeShape) & (x > 0.0) & (x < kInfinity);
  const VecD one = VecD{} + 1.0;
  const VecD value = plain(select<VecD>(inside, a, one), select<VecD>(inside, x, one), upper, least);
  if (!any(~inside)) [[likely]]
    return value;
  const auto apart = [](double s, double t) { return special::large_incomplete_gamma(s, t, upper); };
  return select<VecD>(inside, value, map(a, x, apart));
}
}  // namespace incomplete_gamma

namespace special_vectors {
template <bool upper>
TL_INLINE VecD incomplete(VecD a, VecD x) {
  return incomplete_gamma::regularized<upper>(a, x, 1e-18);
}
template <bool upper>
TL_INLINE VecF incomplete(VecF a, VecF x) {
  return in_double(a, x, [](VecD s, VecD t) { return incomplete_gamma::regularized<upper>(s, t, 1e-12); });
}
}  // namespace special_vectors

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// Orthogonal polynomials of vectors, each lane of its own degree, by three-term recurrences (DLMF 18.9.1,
// 18.9.2). Chebyshev's of high degrees go lane by lane. "DLMF" is the NIST Digital Library of Mathematical
// Functions.
#pragma once

#include "kernels/cpu/elementwise/orthogonal_polynomials.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace polynomials {
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

TL_INLINE auto is_degree(VecD n) { return (n > -1.0) & (n < special::kMostDegree); }  // rounded to zero

// p[n] from p[0] = 1, p[1] and p[k+1] = next(k, p[k], p[k-1]); what is no longer finite stays so. Other
// numbers than degrees give 0.
template <class Next>
TL_INLINE VecD recurrence(VecD n, VecD first, Next next) {
  VecD before = VecD{} + 1.0, now = first;
  VecD result = select<VecD>(is_degree(n), select<VecD>(n < 1.0, before, first), VecD{});
  const VecD degree = select<VecD>(is_degree(n), trunc(n), VecD{});
  for (double k = 1;; ++k) {
    const auto going = (degree > k) & (abs(result) < kInfinity);
    if (!any(going)) return result;
    const VecD after = next(k, now, before);
    before = now;
    now = after;
    result = select<VecD>(going, now, result);
  }
}

// What the lanes that `apart` names have as their value.
template <class Mask, class F>
TL_INLINE VecD apart(Mask lanes, VecD x, VecD n, VecD value, F f) {
  if (!any(lanes)) [[likely]]
    return value;
  return select<VecD>(lanes, map(x, n, f), value);
}

// The recurrence of all four kinds.
template <class F>
TL_INLINE VecD chebyshev(VecD x, VecD n, VecD first, F by_lane) {
  const VecD size = abs(x);
  const auto lanes = is_degree(n) & ((size == 1.0) | ((size < 1.0) & (n >= special::kTrigonometric)) |
                                     ((size > 1.0) & (n >= special::kHyperbolic)));
  const VecD twice = x + x, degree = select<VecD>(lanes, VecD{}, n);
  const VecD value =
      recurrence(degree, first, [=](double, VecD now, VecD before) { return twice * now - before; });
  return apart(lanes, x, n, value, by_lane);
}

// 1 at 1, alternating at -1.
TL_INLINE double at_ends(double x, double n) { return x > 0 || std::fmod(std::trunc(n), 2) == 0 ? 1 : -1; }
}  // namespace polynomials

namespace special_vectors {
#define TL_CHEBYSHEV(name, first)                                                                       \
  [[gnu::noinline]] inline VecD name(VecD x, VecD n) {                                                  \
    return polynomials::chebyshev(x, n, first, [](double v, double d) { return special::name(v, d); }); \
  }
TL_CHEBYSHEV(chebyshev_polynomial_t, x)
TL_CHEBYSHEV(chebyshev_polynomial_u, x + x)
TL_CHEBYSHEV(chebyshev_polynomial_v, x + x - 1.0)
TL_CHEBYSHEV(chebyshev_polynomial_w, x + x + 1.0)
#undef TL_CHEBYSHEV

// From some degree on NaN, as in the reference implementation.
template <class Next>
TL_INLINE VecD hermite(VecD n, VecD first, Next next) {
  constexpr double kMost = 512;
  const auto most = polynomials::is_degree(n) & (n > kMost);
  return select<VecD>(most, VecD{} + polynomials::kNaN,
                      polynomials::recurrence(select<VecD>(most, VecD{}, n), first, next));
}
[[gnu::noinline]] inline VecD hermite_polynomial_h(VecD x, VecD n) {
  const VecD twice = x + x;
  return hermite(n, twice, [=](double k, VecD now, VecD before) { return twice * now - 2 * k * before; });
}
[[gnu::noinline]] inline VecD hermite_polynomial_he(VecD x, VecD n) {
  return hermite(n, x, [=](double k, VecD now, VecD before) { return x * now - k * before; });
}

[[gnu::noinline]] inline VecD laguerre_polynomial_l(VecD x, VecD n) {
  const auto one = (x == 0.0) & polynomials::is_degree(n);
  const VecD value = polynomials::recurrence(
      select<VecD>(one, VecD{}, n), 1.0 - x,
      [=](double k, VecD now, VecD before) { return ((2 * k + 1 - x) * now - k * before) / (k + 1); });
  return value;
}
[[gnu::noinline]] inline VecD legendre_polynomial_p(VecD x, VecD n) {
  const auto ends = (abs(x) == 1.0) & polynomials::is_degree(n);
  const VecD value = polynomials::recurrence(
      select<VecD>(ends, VecD{}, n), x,
      [=](double k, VecD now, VecD before) { return ((2 * k + 1) * x * now - k * before) / (k + 1); });
  return polynomials::apart(ends, x, n, value, polynomials::at_ends);
}
}  // namespace special_vectors

}  // namespace tl::cpu::TL_ISA_NAMESPACE

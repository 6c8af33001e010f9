// The derivatives of the gamma function's logarithm, and Hurwitz's zeta, of vectors. "DLMF" is the NIST
// Digital Library of Mathematical Functions.
#pragma once

#include "kernels/cpu/elementwise/piecewise.h"
#include "kernels/cpu/elementwise/special_functions.h"
#include "kernels/cpu/elementwise/vec_math_rare.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace special_vectors {
// Between 2 and 10 by pieces, below by the recurrence DLMF 5.15.5, above by the asymptotic series 5.15.8.
[[gnu::noinline]] inline VecD trigamma(VecD x) {
  const auto below = x < 2.0, far_below = x < 1.0, above = x >= 10.0;
  const VecD next = x + 1.0, z = select<VecD>(far_below, x + 2.0, select<VecD>(below, next, x));
  const Piece at = piece_of(2.0 * z - 4.0);
  VecD value = piecewise(special::kTrigamma, at.which, z - (0.5 * at.begin + 2.25));
  if (any(above)) {
    const VecD r = 1.0 / x, w = r * r;
    const VecD series = polynomial(w, 43867.0 / 798, -3617.0 / 510, 7.0 / 6, -691.0 / 2730, 5.0 / 66,
                                   -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6);
    value = select<VecD>(above, r + fma(w * r, series, 0.5 * w), value);
  }
  if (any(below)) {
    value += select<VecD>(far_below, 1.0 / (next * next), VecD{});
    value += select<VecD>(below, 1.0 / (x * x), VecD{});
  }
  const auto left = x <= 0.0;
  if (!any(left)) return value;
  return select<VecD>(left, map(x, [](double v) { return special::trigamma(v); }), value);
}

TL_INLINE VecD zeta(VecD s, VecD q) {
  const VecD ends =
      select<VecD>(s == 1.0, VecD{} + std::numeric_limits<double>::infinity(), VecD{} + std::nan(""));
  if (!any(s > 1.0)) return ends;
  return map(s, q, [](double a, double b) { return special::zeta(a, b); });
}
}  // namespace special_vectors

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// The Airy function of vectors: piecewise polynomials, above 2 of what is left of it without its exponential.
#pragma once

#include "kernels/cpu/elementwise/airy_function.h"
#include "kernels/cpu/elementwise/piecewise.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace airy {
inline constexpr double kBegin = -8.5, kWidth = 10.5 / kPieces, kEnd = 2;

// x > 2 through z = 2/3 x^(3/2), of which the exponential gets back what rounding took (DLMF 9.7.5).
[[gnu::noinline]] inline VecD decaying(VecD x) {
  constexpr double kZero = 110;  // from where on the result is
  const VecD bounded = select<VecD>(x > kZero, VecD{} + kZero, x), root = sqrt(bounded);
  const VecD squared = root * root, squared_rest = product_rest(root, root, squared);
  const VecD root_rest = ((bounded - squared) - squared_rest) / (root + root);
  const VecD product = bounded * root;
  const VecD lost = fma(bounded, root_rest, product_rest(bounded, root, product));
  const VecD z = (product + product) / 3.0, thrice = z * 3.0;
  const VecD missing = ((product + product) - thrice) - product_rest(z, VecD{} + 3.0, thrice);
  const VecD size = exp(-z), exact = fma(size, (missing + lost + lost) * (-1.0 / 3), size);
  const VecD value = exact * piecewise(special::kScaledAiry, 30.0 / z) / sqrt(root);
  return select<VecD>(x > kZero, VecD{}, value);
}
}  // namespace airy

namespace special_vectors {
[[gnu::noinline]] inline VecD airy_ai(VecD x) {
  const Piece at = piece_of((x - airy::kBegin) * (1 / airy::kWidth));
  const VecD middle = fma(at.begin, VecD{} + airy::kWidth, VecD{} + (airy::kBegin + airy::kWidth / 2));
  VecD value = piecewise(special::kAiry, at.which, x - middle);
  const auto above = x >= airy::kEnd, below = x < airy::kBegin;
  if (any(above)) value = select<VecD>(above, airy::decaying(x), value);
  if (any(below))
    value = select<VecD>(below, map(x, [](double v) { return special::oscillating_airy_ai(v); }), value);
  return value;
}
}  // namespace special_vectors

}  // namespace tl::cpu::TL_ISA_NAMESPACE

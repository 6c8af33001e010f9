// Sine and cosine of vectors in double precision, of angles up to an eighth of a turn: Maclaurin series.
#pragma once

#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

struct CirclePoint {
  VecD sine, cosine;
};
TL_INLINE CirclePoint circle_point(VecD angle) {
  const VecD z = angle * angle;
  const VecD s = polynomial(z, 1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                            1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6);
  const VecD c = polynomial(z, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
                            1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0);
  return {fma(angle * z, s, angle), c};
}

// The sine after some quarter turns, whole and below 2^50, and an angle more.
TL_INLINE VecD sine_after(VecD quarters, const CirclePoint& more) {
  const VecL count = bitcast<VecL>(quarters + 0x1.8p52);
  const VecD value = select<VecD>((count & 1) != 0, more.cosine, more.sine);
  return bitcast<VecD>(bitcast<VecL>(value) ^ ((count & 2) << 62));
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

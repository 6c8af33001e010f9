// Polynomials of vectors.
#pragma once

#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// Horner's rule, the coefficient of the highest power first.
template <class V, class... Rest>
TL_INLINE V polynomial(V x, Lane<V> first, Rest... rest) {
  V sum = broadcast<V>(first);
  ((sum = fma(sum, x, broadcast<V>(rest))), ...);
  return sum;
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// Functors that are seldom called; compiled once, computing in the widest type.
#pragma once

#include <cmath>

#include "kernels/cpu/elementwise/functor.h"
#include "kernels/cpu/elementwise/sample_gradients.h"

namespace tl::cpu::TL_ISA_NAMESPACE::functions {

#define TL_SPECIAL(name) TL_BINARY(name, 0, false, return special::name(x, y);)
TL_SPECIAL(standard_gamma_grad)
#undef TL_SPECIAL
TL_TERNARY(dirichlet_grad, 0, false, return special::dirichlet_grad(x, y, z);)
// On the bits of 16-bit formats, of which p[0] are those of infinity.
TL_BINARY(nextafter_bits, 1, false, const int from = x & 0x7fff, to = y & 0x7fff; if (from > p[0]) return x;
          if (to > p[0] || x == y) return y; if (from == 0 && to == 0) return y;
          if (from == 0) return static_cast<T>((y & 0x8000) | 1);
          const bool away = ((x ^ y) & 0x8000) == 0 && to > from; return static_cast<T>(x + (away ? 1 : -1));)
// A complex number from its parts.
TL_BINARY(complex, 0, false, return C<T>{x, y};)

}  // namespace tl::cpu::TL_ISA_NAMESPACE::functions

// Functors that are seldom called; compiled once, computing in the widest type.
#pragma once

#include "kernels/cpu/elementwise/airy_function.h"
#include "kernels/cpu/elementwise/bessel_functions.h"
#include "kernels/cpu/elementwise/functor.h"
#include "kernels/cpu/elementwise/incomplete_gamma.h"
#include "kernels/cpu/elementwise/orthogonal_polynomials.h"
#include "kernels/cpu/elementwise/sample_gradients.h"
#include "kernels/cpu/elementwise/special_functions.h"

namespace tl::cpu::TL_ISA_NAMESPACE::functions {

#define TL_SPECIAL(name) TL_UNARY(name, false, return special::name(x);)
TL_SPECIAL(erfcx)
TL_SPECIAL(ndtri)
TL_SPECIAL(log_ndtr)
TL_SPECIAL(i0)
TL_SPECIAL(i0e)
TL_SPECIAL(i1)
TL_SPECIAL(i1e)
TL_SPECIAL(k0)
TL_SPECIAL(k0e)
TL_SPECIAL(k1)
TL_SPECIAL(k1e)
TL_SPECIAL(spherical_j0)
TL_SPECIAL(airy_ai)
TL_SPECIAL(ndtr)
#undef TL_SPECIAL
#define TL_SPECIAL(name) TL_BINARY(name, 0, false, return special::name(x, y);)
TL_SPECIAL(gammainc)
TL_SPECIAL(gammaincc)
TL_SPECIAL(zeta)
TL_SPECIAL(standard_gamma_grad)
TL_SPECIAL(chebyshev_polynomial_t)
TL_SPECIAL(chebyshev_polynomial_u)
TL_SPECIAL(chebyshev_polynomial_v)
TL_SPECIAL(chebyshev_polynomial_w)
TL_SPECIAL(hermite_polynomial_h)
TL_SPECIAL(hermite_polynomial_he)
TL_SPECIAL(laguerre_polynomial_l)
TL_SPECIAL(legendre_polynomial_p)
#undef TL_SPECIAL
#define TL_SHIFTED(name) TL_BINARY(shifted_##name, 0, false, return special::name(x + x - 1, y);)
TL_SHIFTED(chebyshev_polynomial_t)
TL_SHIFTED(chebyshev_polynomial_u)
TL_SHIFTED(chebyshev_polynomial_v)
TL_SHIFTED(chebyshev_polynomial_w)
#undef TL_SHIFTED
#define TL_OF_LIBRARY(name, function) TL_UNARY(name, false, return function(x);)
TL_OF_LIBRARY(bessel_j0, ::j0)
TL_OF_LIBRARY(bessel_j1, ::j1)
TL_OF_LIBRARY(bessel_y0, ::y0)
TL_OF_LIBRARY(bessel_y1, ::y1)
#undef TL_OF_LIBRARY
TL_UNARY_WITH(polygamma, 1, false, return special::polygamma(p[0], x);)
TL_TERNARY(dirichlet_grad, 0, false, return special::dirichlet_grad(x, y, z);)
TL_UNARY(entr, false,
         return x > 0    ? -x * std::log(x)
                : x == 0 ? T{}
                : x != x ? x
                         : -std::numeric_limits<T>::infinity();)

// ---- floating-point numbers
// ----------------------------------------------------------------------------------------
TL_UNARY(frexp_mantissa, false, int exponent; return std::frexp(x, &exponent);)
TL_UNARY(frexp_exponent, false, int exponent = 0; std::frexp(x, &exponent); return static_cast<T>(exponent);)
TL_BINARY(nextafter, 0, false, return std::nextafter(x, y);)
// On the bits of 16-bit formats, of which p[0] are those of infinity.
TL_BINARY(nextafter_bits, 1, false, const int from = x & 0x7fff, to = y & 0x7fff; if (from > p[0]) return x;
          if (to > p[0] || x == y) return y; if (from == 0 && to == 0) return y;
          if (from == 0) return static_cast<T>((y & 0x8000) | 1);
          const bool away = ((x ^ y) & 0x8000) == 0 && to > from; return static_cast<T>(x + (away ? 1 : -1));)
TL_UNARY(angle, false, if constexpr (is_complex_type<T>) return arg(x);
         else return x != x ? x
         : x < T{}          ? static_cast<T>(3.14159265358979323846)
                            : T{};)

// A complex number from its parts, and from its length and angle.
TL_BINARY(complex, 0, false, return C<T>{x, y};)
TL_BINARY(polar, 0, false, return C<T>{x * std::cos(y), x * std::sin(y)};)

}  // namespace tl::cpu::TL_ISA_NAMESPACE::functions

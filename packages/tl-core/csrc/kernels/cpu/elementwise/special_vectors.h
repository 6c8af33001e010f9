// Functors of special functions that compute in vectors of double for every dtype.
#pragma once

#include "kernels/cpu/elementwise/airy_vectors.h"
#include "kernels/cpu/elementwise/bessel_functions.h"
#include "kernels/cpu/elementwise/bessel_vectors.h"
#include "kernels/cpu/elementwise/cylinder_vectors.h"
#include "kernels/cpu/elementwise/functor.h"
#include "kernels/cpu/elementwise/gamma_vectors.h"
#include "kernels/cpu/elementwise/incomplete_gamma_vectors.h"
#include "kernels/cpu/elementwise/normal_vectors.h"
#include "kernels/cpu/elementwise/polynomial_vectors.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace special_vectors {
// sin(x) / x, of floats up to where the fast reduction of angles ends.
TL_INLINE VecD spherical_j0(VecD x) {
  return map(x, [](double v) { return special::spherical_j0(v); });
}
TL_INLINE VecF spherical_j0(VecF x) {
  const VecF fast = in_double(
      x, [](VecD v) { return select<VecD>(v == 0.0, VecD{} + 1.0, brief::sin_quarters(v, 0) / v); });
  const auto far = !(abs(x) <= 1e6f);
  if (!any(far)) [[likely]]
    return fast;
  return select<VecF>(far, map(x, [](float v) { return static_cast<float>(special::spherical_j0(v)); }),
                      fast);
}
}  // namespace special_vectors

namespace functions {

template <class V, class F>
TL_INLINE V through_double(V x, F f) {
  if constexpr (std::is_same_v<V, VecF>)
    return in_double(x, f);
  else
    return f(x);
}
template <class V, class F>
TL_INLINE V through_double(V x, V y, F f) {
  if constexpr (std::is_same_v<V, VecF>)
    return in_double(x, y, f);
  else
    return f(x, y);
}

#define TL_SPECIAL(name) \
  TL_UNARY(name, true, return through_double(x, [](VecD v) { return special_vectors::name(v); });)
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
TL_SPECIAL(airy_ai)
#undef TL_SPECIAL
TL_UNARY(ndtr, true,
         if constexpr (std::is_same_v<T, VecF>) return in_double(x,
                                                                 [](VecD v) {
                                                                   return special_vectors::ndtr_of_floats(v);
                                                                 });
         else return special_vectors::ndtr(x);)
TL_BINARY(gammainc, 0, true, return special_vectors::incomplete<false>(x, y);)
TL_BINARY(gammaincc, 0, true, return special_vectors::incomplete<true>(x, y);)
TL_UNARY(bessel_j0, true, return (special_vectors::bessel<0, false>(x, ::j0));)
TL_UNARY(bessel_j1, true, return (special_vectors::bessel<1, false>(x, ::j1));)
TL_UNARY(bessel_y0, true, return (special_vectors::bessel<0, true>(x, ::y0));)
TL_UNARY(bessel_y1, true, return (special_vectors::bessel<1, true>(x, ::y1));)
TL_UNARY(spherical_j0, true, return special_vectors::spherical_j0(x);)

#define TL_SPECIAL(name)   \
  TL_BINARY(name, 0, true, \
            return through_double(x, y, [](VecD v, VecD w) { return special_vectors::name(v, w); });)
TL_SPECIAL(zeta)
TL_SPECIAL(chebyshev_polynomial_t)
TL_SPECIAL(chebyshev_polynomial_u)
TL_SPECIAL(chebyshev_polynomial_v)
TL_SPECIAL(chebyshev_polynomial_w)
TL_SPECIAL(hermite_polynomial_h)
TL_SPECIAL(hermite_polynomial_he)
TL_SPECIAL(laguerre_polynomial_l)
TL_SPECIAL(legendre_polynomial_p)
#undef TL_SPECIAL
#define TL_SHIFTED(name)                                                              \
  TL_BINARY(shifted_##name, 0, true, return through_double(x, y, [](VecD v, VecD w) { \
              return special_vectors::name(v + v - 1.0, w);                           \
            });)
TL_SHIFTED(chebyshev_polynomial_t)
TL_SHIFTED(chebyshev_polynomial_u)
TL_SHIFTED(chebyshev_polynomial_v)
TL_SHIFTED(chebyshev_polynomial_w)
#undef TL_SHIFTED

TL_UNARY_WITH(polygamma, 1, true, if (p[0] == 0) return math::digamma(x);
              if (p[0] == 1) return through_double(x, [](VecD v) { return special_vectors::trigamma(v); });
              const double order = p[0];
              return map(x, [=](Lane<T> v) { return static_cast<Lane<T>>(special::polygamma(order, v)); });)

}  // namespace functions

}  // namespace tl::cpu::TL_ISA_NAMESPACE

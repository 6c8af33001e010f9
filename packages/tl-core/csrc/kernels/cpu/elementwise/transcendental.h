// Transcendental functors: logarithms and powers to other bases, circular and hyperbolic functions
// and their inverses.
#pragma once

#include "kernels/cpu/elementwise/functor.h"
#include "kernels/cpu/elementwise/normal_vectors.h"
#include "kernels/cpu/elementwise/vec_math_rare.h"

namespace tl::cpu::TL_ISA_NAMESPACE::functions {

// A complex number times a real constant.
template <class T>
TL_INLINE T times_real(T x, double by) {
  return x * static_cast<Real<T>>(by);
}

// The function of libm on a complex number in double precision: it has the limits of C11 Annex G.
#define TL_LIBM(name)                          \
  [](Complex128 x) {                           \
    _Complex double z;                         \
    __real__ z = x.re;                         \
    __imag__ z = x.im;                         \
    z = __builtin_c##name(z);                  \
    return Complex128{__real__ z, __imag__ z}; \
  }

// A function of complex numbers, computed in double precision.
template <class T>
TL_INLINE T in_double(Complex128 (*function)(Complex128), T x) {
  const Complex128 r = function({x.re, x.im});
  return {static_cast<Real<T>>(r.re), static_cast<Real<T>>(r.im)};
}

// The result of a formula; libm's where a part of it is infinite or NaN.
template <class T>
TL_INLINE T with_limits(T formula, Complex128 (*function)(Complex128), T x) {
  const bool is_finite = std::isfinite(formula.re) && std::isfinite(formula.im);
  return is_finite ? formula : in_double(function, x);
}

#define TL_COMPLEX_IS_SPECIAL(name)                                                          \
  TL_UNARY(name, true, if constexpr (is_complex_type<T>) return in_double(TL_LIBM(name), x); \
           else return math::name(x);)
TL_COMPLEX_IS_SPECIAL(tan)
TL_COMPLEX_IS_SPECIAL(asin)
TL_COMPLEX_IS_SPECIAL(acos)
TL_COMPLEX_IS_SPECIAL(atan)
TL_COMPLEX_IS_SPECIAL(asinh)
TL_COMPLEX_IS_SPECIAL(acosh)
TL_COMPLEX_IS_SPECIAL(atanh)
#undef TL_COMPLEX_IS_SPECIAL

#define TL_COMPLEX_HAS_LIMITS(name)                                                               \
  TL_UNARY(name, true,                                                                            \
           if constexpr (is_complex_type<T>) return with_limits(math::name(x), TL_LIBM(name), x); \
           else return math::name(x);)
TL_COMPLEX_HAS_LIMITS(sin)
TL_COMPLEX_HAS_LIMITS(cos)
TL_COMPLEX_HAS_LIMITS(sinh)
TL_COMPLEX_HAS_LIMITS(cosh)
TL_COMPLEX_HAS_LIMITS(tanh)
#undef TL_COMPLEX_HAS_LIMITS

TL_UNARY(exp2, true, if constexpr (is_complex_type<T>) return math::exp(times_real(x, 0.6931471805599453));
         else return math::exp2(x);)
TL_UNARY(log2, true, if constexpr (is_complex_type<T>) return times_real(math::log(x), 1.4426950408889634);
         else return math::log2(x);)
TL_UNARY(log10, true, if constexpr (is_complex_type<T>) return times_real(math::log(x), 0.4342944819032518);
         else return math::log10(x);)
TL_BINARY(atan2, 0, true, return math::atan2(x, y);)
TL_UNARY(lgamma, true, return math::lgamma(x);)
TL_UNARY(digamma, true, return math::digamma(x);)
TL_UNARY(erf, true, return math::erf(x);)
TL_UNARY(erfc, true, return math::erfc(x);)
TL_UNARY(erfinv, true, return math::erfinv(x);)

// sin(pi x) / (pi x), and 1 at 0.
TL_UNARY(
    sinc, true, if constexpr (is_complex_type<T>) {
      if (is_zero(x)) return one_like(x);
      const T angle = times_real(x, 3.14159265358979323846);
      return with_limits(math::sin(angle), TL_LIBM(sin), angle) / angle;
    } else return math::sinc(x);)

#undef TL_LIBM

// 2 atanh(x) of |x| <= 1/4, by its power series, of which single precision needs six terms.
template <class T>
TL_INLINE T twice_atanh(T x) {
  constexpr int last = sizeof(Lane<T>) == 8 ? 27 : 13;
  const T square = x * x;
  T sum{};
  for (int k = last; k > 1; k -= 2) sum = (sum + Lane<T>(2.0 / k)) * square;
  return x * (Lane<T>(2) + sum);
}

// log(x / (1 - x)) of x between two bounds; about 1/2 as 2 atanh(2 x - 1), which loses nothing there.
TL_UNARY_WITH(logit, 2, true,
              const T bounded = select<T>(x < p[0], spread<T>(p[0]), select<T>(x > p[1], spread<T>(p[1]), x));
              const T away = bounded * Lane<T>(2) - Lane<T>(1);
              return select<T>((away > Lane<T>(-0.25)) & (away < Lane<T>(0.25)), twice_atanh(away),
                               math::log(bounded / (Lane<T>(1) - bounded)));)

// -x log(x), and 0 at 0.
TL_UNARY(entr, true, constexpr Lane<T> infinity = std::numeric_limits<Lane<T>>::infinity();
         return select<T>(x == 0, T{}, select<T>(x < 0, T{} - infinity, -x* math::log(x)));)

// x log y, and 0 where x is 0 unless y is NaN.
TL_BINARY(xlogy, 0, true, return select<T>(is_nan(y), y, select<T>(x == 0, T{}, x* math::log(y)));)
TL_BINARY(xlog1py, 0, true, return select<T>(is_nan(y), y, select<T>(x == 0, T{}, x* math::log1p(y)));)

// Of complex numbers, from the one with the larger real part.
template <class T>
inline T complex_log_add_exp(T x, T y) {
  constexpr auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if (is_nan(x) || is_nan(y)) return {nan, nan};
  const bool first = x.re >= y.re;
  const T larger = first ? x : y, smaller = first ? y : x;
  if (larger.re == smaller.re && !(std::fabs(larger.re) <= std::numeric_limits<Real<T>>::max()))
    return larger.re < 0 ? y : math::log(math::exp(larger) + math::exp(smaller));
  return larger + math::log1p(math::exp(smaller - larger));
}
TL_BINARY(logaddexp, 0, true, if constexpr (is_complex_type<T>) return complex_log_add_exp(x, y);
          else return math::log_add_exp(x, y);)
TL_BINARY(
    logaddexp2, 0, true, if constexpr (is_complex_type<T>) {
      constexpr double up = 0.6931471805599453, down = 1.4426950408889634;
      return times_real(complex_log_add_exp(times_real(x, up), times_real(y, up)), down);
    } else return math::log_add_exp2(x, y);)

TL_BINARY(hypot, 0, true, return math::hypot(x, y);)

}  // namespace tl::cpu::TL_ISA_NAMESPACE::functions

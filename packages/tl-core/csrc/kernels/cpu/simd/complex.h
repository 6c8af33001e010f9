// Complex arithmetic and functions on ComplexOf<float> and ComplexOf<double>, without overflow on the way
// where the result fits.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
inline constexpr bool is_complex_type = false;
template <class R>
inline constexpr bool is_complex_type<ComplexOf<R>> = true;
template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<ComplexOf<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;

template <class R>
using C = ComplexOf<R>;

template <class R>
TL_INLINE C<R> operator+(C<R> a, C<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
TL_INLINE C<R> operator-(C<R> a, C<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
TL_INLINE C<R> operator-(C<R> a) {
  return {-a.re, -a.im};
}
template <class R>
TL_INLINE C<R> operator*(C<R> a, C<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
TL_INLINE C<R> operator*(C<R> a, R s) {
  return {a.re * s, a.im * s};
}
template <class R>
TL_INLINE bool operator==(C<R> a, C<R> b) {
  return a.re == b.re && a.im == b.im;
}
template <class R>
TL_INLINE bool operator!=(C<R> a, C<R> b) {
  return !(a == b);
}
template <class R>
TL_INLINE C<R> conj(C<R> a) {
  return {a.re, -a.im};
}
template <class R>
TL_INLINE bool is_zero(C<R> a) {
  return a.re == 0 && a.im == 0;
}
template <class R>
TL_INLINE bool is_nan(C<R> a) {
  return a.re != a.re || a.im != a.im;
}

// The products of complex numbers whose parts lie side by side in the lanes, with the roundings of operator*.
template <class V, size_t... I>
TL_INLINE V pair_products(V a, V b, std::index_sequence<I...>) {
  const V re = __builtin_shufflevector(b, b, static_cast<int>(I & ~size_t{1})...),
          im = __builtin_shufflevector(b, b, static_cast<int>(I | 1)...),
          swapped = __builtin_shufflevector(a, a, static_cast<int>(I ^ 1)...);
  constexpr V kSigns = {(I % 2 ? Lane<V>(0) : -Lane<V>(0))...};
  const V cross = swapped * im;
  return a * re + bitcast<V>(bitcast<BitsOf<V>>(cross) ^ bitcast<BitsOf<V>>(kSigns));
}
template <class V>
TL_INLINE V pair_products(V a, V b) {
  return pair_products(a, b, std::make_index_sequence<sizeof(V) / sizeof(Lane<V>)>{});
}

// Smith's method: both parts of the divisor are brought to the size of the larger one.
template <class R>
inline C<R> operator/(C<R> a, C<R> b) {
  const R re = std::fabs(b.re), im = std::fabs(b.im);
  if (re == 0 && im == 0) return {a.re / re, a.im / re};
  if (re >= im) {
    const R ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const R ratio = b.re / b.im, scale = 1 / (b.re * ratio + b.im);
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}

template <class R>
inline R abs(C<R> a) {
  return std::hypot(a.re, a.im);
}
template <class R>
inline R arg(C<R> a) {
  return std::atan2(a.im, a.re);
}

template <class R>
inline C<R> exp(C<R> a) {
  const R size = std::exp(a.re);
  if (a.im == 0) return {size, a.im};
  if (std::isinf(a.re) && !std::isfinite(a.im)) {  // e^-inf is 0 whatever the angle
    if (a.re < 0) return {0, 0};
    return {size, std::numeric_limits<R>::quiet_NaN()};
  }
  return {size * std::cos(a.im), size * std::sin(a.im)};
}

template <class R>
inline C<R> log(C<R> a) {
  const R re = std::fabs(a.re), im = std::fabs(a.im), large = re > im ? re : im, small = re > im ? im : re;
  if (large > R(0.5) && large < R(2) &&
      large * large + small * small < R(3)) {  // near the unit circle log|a| cancels
    const double l = large, s = small;
    return {static_cast<R>(0.5 * std::log1p((l - 1) * (l + 1) + s * s)), arg(a)};
  }
  return {std::log(abs(a)), arg(a)};
}

template <class R>
inline C<R> sqrt(C<R> a) {
  if (a.re == 0 && a.im == 0) return {0, a.im};
  if (std::isinf(a.im)) return {std::numeric_limits<R>::infinity(), a.im};
  if (std::isinf(a.re)) {
    if (a.re > 0) return {a.re, std::isnan(a.im) ? a.im : std::copysign(R(0), a.im)};
    return {std::isnan(a.im) ? a.im : R(0), std::copysign(-a.re, a.im)};
  }
  R re = a.re, im = a.im, back = 1;
  if (std::fmax(std::fabs(re), std::fabs(im)) > std::numeric_limits<R>::max() / 4) re /= 4, im /= 4, back = 2;
  if (std::fmax(std::fabs(re), std::fabs(im)) < std::numeric_limits<R>::min() * 4) {
    constexpr R up = R(1) / std::numeric_limits<R>::epsilon();
    re *= up * up, im *= up * up, back = 1 / up;
  }
  const R root = std::sqrt((std::fabs(re) + std::hypot(re, im)) / 2);
  const C<R> principal =
      a.re >= 0 ? C<R>{root, im / (2 * root)} : C<R>{std::fabs(im) / (2 * root), std::copysign(root, im)};
  return principal * back;
}

template <class R>
inline C<R> sinh(C<R> a) {
  if (a.im == 0) return {std::sinh(a.re), a.im};
  return {std::sinh(a.re) * std::cos(a.im), std::cosh(a.re) * std::sin(a.im)};
}
template <class R>
inline C<R> cosh(C<R> a) {
  if (a.im == 0) return {std::cosh(a.re), a.re * a.im};
  return {std::cosh(a.re) * std::cos(a.im), std::sinh(a.re) * std::sin(a.im)};
}
template <class R>
inline C<R> sin(C<R> a) {
  const C<R> r = sinh(C<R>{-a.im, a.re});
  return {r.im, -r.re};
}
template <class R>
inline C<R> cos(C<R> a) {
  return cosh(C<R>{-a.im, a.re});
}

// Kahan's form: nothing overflows before the limit ±1 is reached.
template <class R>
inline C<R> tanh(C<R> a) {
  if (std::fabs(a.re) > std::asinh(std::numeric_limits<R>::max()) / 4) {
    if (!std::isfinite(a.im) && !std::isinf(a.re))
      return {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN()};
    const R turn = std::isfinite(a.im) ? std::sin(2 * a.im) : R(1);
    return {std::copysign(R(1), a.re), std::copysign(R(0), turn)};
  }
  const R t = std::tan(a.im), beta = 1 + t * t, s = std::sinh(a.re), rho = std::sqrt(1 + s * s);
  if (std::isinf(t)) return {rho / s, 1 / t};
  const R denominator = 1 + beta * s * s;
  return {beta * rho * s / denominator, t / denominator};
}

template <class R>
inline C<R> expm1(C<R> a) {
  const R half = std::sin(a.im / 2), grown = std::expm1(a.re);
  return {grown * std::cos(a.im) - 2 * half * half, (grown + 1) * std::sin(a.im)};
}
template <class R>
inline C<R> log1p(C<R> a) {
  const R re = 1 + a.re;
  if (std::fabs(a.re) < R(0.5) && std::fabs(a.im) < R(0.5)) {
    return {std::log1p(a.re * (2 + a.re) + a.im * a.im) / 2, std::atan2(a.im, re)};
  }
  return log(C<R>{re, a.im});
}

template <class R>
inline C<R> pow(C<R> a, C<R> b) {
  if (is_zero(b)) return {1, 0};
  if (is_zero(a)) {
    if (b.re > 0 && b.im == 0) return {0, 0};
    return exp(b * C<R>{-std::numeric_limits<R>::infinity(), 0});
  }
  if (b.im == 0 && b.re == std::trunc(b.re) && std::fabs(b.re) <= 16) {  // exact steps for small whole powers
    C<R> out{1, 0}, base = a;
    for (int n = static_cast<int>(std::fabs(b.re)); n; n >>= 1, base = base * base) {
      if (n & 1) out = out * base;
    }
    return b.re < 0 ? C<R>{1, 0} / out : out;
  }
  return exp(b * log(a));
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

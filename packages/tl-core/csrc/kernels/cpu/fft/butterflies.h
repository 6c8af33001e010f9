// Butterflies: transforms of a few complex numbers, of which each lane of a vector holds its own.
#pragma once

#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// A complex number in each lane.
template <class T>
struct Complexes {
  using V = Vec<T>;
  V re, im;
};
template <class T>
TL_INLINE Complexes<T> operator+(Complexes<T> a, Complexes<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
TL_INLINE Complexes<T> operator-(Complexes<T> a, Complexes<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
TL_INLINE Complexes<T> times(Complexes<T> a, Complexes<T> b) {
  return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}
template <class T>
TL_INLINE Complexes<T> times(Complexes<T> a, T re, T im) {
  return times(a, Complexes<T>{broadcast<Vec<T>>(re), broadcast<Vec<T>>(im)});
}
template <class T>
TL_INLINE Complexes<T> times_minus_i(Complexes<T> a) {
  return {a.im, -a.re};
}
template <class T>
TL_INLINE Complexes<T> scaled(Complexes<T> a, T by) {
  const Vec<T> f = broadcast<Vec<T>>(by);
  return {a.re * f, a.im * f};
}
// a + b f
template <class T>
TL_INLINE Complexes<T> plus_scaled(Complexes<T> a, Complexes<T> b, T f) {
  const Vec<T> v = broadcast<Vec<T>>(f);
  return {fma(b.re, v, a.re), fma(b.im, v, a.im)};
}
// a - i b
template <class T>
TL_INLINE Complexes<T> minus_i(Complexes<T> a, Complexes<T> b) {
  return {a.re + b.im, a.im - b.re};
}
// a + i b
template <class T>
TL_INLINE Complexes<T> plus_i(Complexes<T> a, Complexes<T> b) {
  return {a.re - b.im, a.im + b.re};
}

template <class T>
TL_INLINE void butterfly2(Complexes<T>* a) {
  const Complexes<T> x = a[0], y = a[1];
  a[0] = x + y;
  a[1] = x - y;
}
template <class T>
TL_INLINE void butterfly3(Complexes<T>* a) {
  constexpr T kHalf = T(-0.5), kSin = T(0.86602540378443864676);
  const Complexes<T> sum = a[1] + a[2], difference = scaled(a[1] - a[2], kSin);
  const Complexes<T> middle = plus_scaled(a[0], sum, kHalf);
  a[0] = a[0] + sum;
  a[1] = minus_i(middle, difference);
  a[2] = plus_i(middle, difference);
}
template <class T>
TL_INLINE void butterfly4(Complexes<T>* a) {
  const Complexes<T> s02 = a[0] + a[2], d02 = a[0] - a[2], s13 = a[1] + a[3], d13 = a[1] - a[3];
  a[0] = s02 + s13;
  a[1] = minus_i(d02, d13);
  a[2] = s02 - s13;
  a[3] = plus_i(d02, d13);
}
template <class T>
TL_INLINE void butterfly5(Complexes<T>* a) {
  constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
  constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
  const Complexes<T> p1 = a[1] + a[4], m1 = a[1] - a[4], p2 = a[2] + a[3], m2 = a[2] - a[3];
  const Complexes<T> e1 = plus_scaled(plus_scaled(a[0], p1, c1), p2, c2);
  const Complexes<T> e2 = plus_scaled(plus_scaled(a[0], p1, c2), p2, c1);
  const Complexes<T> o1 = plus_scaled(scaled(m1, s1), m2, s2);
  const Complexes<T> o2 = plus_scaled(scaled(m1, s2), m2, -s1);
  a[0] = a[0] + p1 + p2;
  a[1] = minus_i(e1, o1);
  a[2] = minus_i(e2, o2);
  a[3] = plus_i(e2, o2);
  a[4] = plus_i(e1, o1);
}
// The odd half's factors are (1 - i) / sqrt(2), -i and (-1 - i) / sqrt(2): the roots are applied with the
// last sums.
template <class T>
TL_INLINE void butterfly8(Complexes<T>* a) {
  constexpr T h = T(0.70710678118654752440);
  Complexes<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
  butterfly4(even);
  butterfly4(odd);
  const Complexes<T> o1{odd[1].re + odd[1].im, odd[1].im - odd[1].re};
  const Complexes<T> o3{odd[3].im - odd[3].re, -(odd[3].re + odd[3].im)};
  a[0] = even[0] + odd[0];
  a[4] = even[0] - odd[0];
  a[1] = plus_scaled(even[1], o1, h);
  a[5] = plus_scaled(even[1], o1, -h);
  a[2] = minus_i(even[2], odd[2]);
  a[6] = plus_i(even[2], odd[2]);
  a[3] = plus_scaled(even[3], o3, h);
  a[7] = plus_scaled(even[3], o3, -h);
}

// Four by four.
template <class T>
TL_INLINE void butterfly16(Complexes<T>* a) {
  constexpr T h = T(0.70710678118654752440), c = T(0.92387953251128675613), s = T(0.38268343236508977173);
  Complexes<T> b[4][4];  // b[k][j]: of the inputs j, j + 4, j + 8 and j + 12
  for (int j = 0; j < 4; ++j) {
    Complexes<T> x[4] = {a[j], a[j + 4], a[j + 8], a[j + 12]};
    butterfly4(x);
    for (int k = 0; k < 4; ++k) b[k][j] = x[k];
  }
  b[1][1] = times(b[1][1], c, -s);
  b[1][2] = times(b[1][2], h, -h);
  b[1][3] = times(b[1][3], s, -c);
  b[2][1] = times(b[2][1], h, -h);
  b[2][2] = times_minus_i(b[2][2]);
  b[2][3] = times(b[2][3], -h, -h);
  b[3][1] = times(b[3][1], s, -c);
  b[3][2] = times(b[3][2], -h, -h);
  b[3][3] = times(b[3][3], -c, s);
  for (int k = 0; k < 4; ++k) {
    butterfly4(b[k]);
    for (int i = 0; i < 4; ++i) a[k + 4 * i] = b[k][i];
  }
}

template <int R, class T>
TL_INLINE void butterfly(Complexes<T>* a) {
  if constexpr (R == 2) butterfly2(a);
  if constexpr (R == 3) butterfly3(a);
  if constexpr (R == 4) butterfly4(a);
  if constexpr (R == 5) butterfly5(a);
  if constexpr (R == 8) butterfly8(a);
  if constexpr (R == 16) butterfly16(a);
}

// Of an odd number r: pairs of inputs that stand symmetrically have real factors.
template <class T>
void odd_butterfly(int r, const T* roots, Complexes<T>* a) {
  const int half = (r - 1) / 2;
  Complexes<T> plus[15], minus[15];
  Complexes<T> sum = a[0];
  for (int j = 0; j < half; ++j) {
    plus[j] = a[j + 1] + a[r - 1 - j];
    minus[j] = a[j + 1] - a[r - 1 - j];
    sum = sum + plus[j];
  }
  for (int k = 1; k <= half; ++k) {
    Complexes<T> even = a[0], odd = {};
    for (int j = 0, power = k; j < half; ++j, power = power + k < r ? power + k : power + k - r) {
      even = plus_scaled(even, plus[j], roots[2 * power]);
      odd = plus_scaled(odd, minus[j], roots[2 * power + 1]);
    }
    a[k] = minus_i(even, odd);
    a[r - k] = plus_i(even, odd);
  }
  a[0] = sum;
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

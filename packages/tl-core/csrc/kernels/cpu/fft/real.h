// What surrounds the transforms of complex numbers: spectra of real numbers, and products.
#pragma once

#include "kernels/cpu/fft/lanes.h"
#include "kernels/cpu/fft/plan.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// The even and the odd real numbers are the real and imaginary parts of n complex ones, whose spectrum is Z.
// With E and O, the spectra of the even and the odd numbers, read off Z_k and conj(Z_(n - k)), and u_k =
// e^(-i pi k / n): X_k = E_k + u_k O_k and X_(n - k) = conj(E_k - u_k O_k).
template <class V>
TL_INLINE void unpack_pair(V& a_re, V& a_im, V& b_re, V& b_im, V u, V v) {
  const V half = V{} + Lane<V>(0.5);
  const V even_re = (a_re + b_re) * half, even_im = (a_im - b_im) * half;
  const V odd_re = (a_im + b_im) * half, odd_im = (b_re - a_re) * half;
  const V rotated_re = fma(odd_re, u, -(odd_im * v)), rotated_im = fma(odd_re, v, odd_im * u);
  a_re = even_re + rotated_re;
  a_im = even_im + rotated_im;
  b_re = even_re - rotated_re;
  b_im = rotated_im - even_im;
}

// The other way round, to Z times 2.
template <class V>
TL_INLINE void pack_pair(V& a_re, V& a_im, V& b_re, V& b_im, V u, V v) {
  const V even_re = a_re + b_re, even_im = a_im - b_im, apart_re = a_re - b_re, apart_im = a_im + b_im;
  const V odd_re = fma(apart_re, u, apart_im * v), odd_im = fma(apart_im, u, -(apart_re * v));
  a_re = even_re - odd_im;
  a_im = even_im + odd_re;
  b_re = even_re + odd_im;
  b_im = odd_re - even_im;
}

// Calls pair(a, b, roots) for the numbers k and n - k, k from 1 to n / 2, vectors of them where they
// are consecutive; from z to `to`, which may be the same. The last two vectors may overlap: a pair has the
// same bits either way round.
template <class T, class Pair>
TL_INLINE void for_pairs(const FftPlan<T>& plan, const T* z, T* to, int64_t stride, int64_t to_stride,
                         Pair pair) {
  constexpr int W = kLanes<T>;
  constexpr auto kAll = std::make_index_sequence<W>{};
  const int64_t n = plan.n;
  const T* roots = plan.half_roots.data();
  int64_t k = 1;
  if (stride == 2 && to_stride == 2)
    for (; k + W <= n - k + 1 && k <= n / 2; k += W) {
      const int64_t other = n - k - W + 1;
      Complexes<T> a = load_consecutive(z + 2 * k, W), b = load_consecutive(z + 2 * other, W);
      const Complexes<T> u = load_consecutive(roots + 2 * k, W);
      b = {reversed<T>(b.re, kAll), reversed<T>(b.im, kAll)};
      pair(a.re, a.im, b.re, b.im, u.re, u.im);
      store_consecutive(to + 2 * k, W, a);
      store_consecutive(to + 2 * other, W, Complexes<T>{reversed<T>(b.re, kAll), reversed<T>(b.im, kAll)});
    }
  for (; k <= n / 2; ++k) {
    const T *from_a = z + k * stride, *from_b = z + (n - k) * stride;
    T a_re = from_a[0], a_im = from_a[1], b_re = from_b[0], b_im = from_b[1];
    pair(a_re, a_im, b_re, b_im, roots[2 * k], roots[2 * k + 1]);
    T *to_a = to + k * to_stride, *to_b = to + (n - k) * to_stride;
    to_a[0] = a_re;
    to_a[1] = a_im;
    to_b[0] = b_re;
    to_b[1] = b_im;
  }
}

template <class T>
void unpack_spectrum(const FftPlan<T>& plan, T* z, int64_t stride) {
  const T re0 = z[0], im0 = z[1];
  for_pairs(plan, z, z, stride, stride, [](auto& a, auto& b, auto& c, auto& d, auto u, auto v) TL_INLINED {
    unpack_pair(a, b, c, d, u, v);
  });
  z[0] = re0 + im0;
  z[1] = 0;
  z[plan.n * stride] = re0 - im0;
  z[plan.n * stride + 1] = 0;
}

// Imaginary parts of the first and last number count as zero.
template <class T>
void pack_spectrum(const FftPlan<T>& plan, const T* x, int64_t stride, T* z) {
  const T first = x[0], last = x[plan.n * stride];
  for_pairs(plan, x, z, stride, 2, [](auto& a, auto& b, auto& c, auto& d, auto u, auto v) TL_INLINED {
    pack_pair(a, b, c, d, u, v);
  });
  z[0] = first + last;
  z[1] = first - last;
}

// out = a b scale, n complex numbers, with the parts of a or of the result exchanged where that is asked for.
template <class T>
void multiply(const T* a, bool exchange_in, const T* b, T* out, bool exchange_out, T scale, int64_t n) {
  constexpr int W = kLanes<T>;
  for (int64_t i = 0; i < n; i += W) {
    const int count = static_cast<int>(std::min<int64_t>(W, n - i));
    const Complexes<T> x = exchanged(load_consecutive(a + 2 * i, count), exchange_in);
    const Complexes<T> product = scaled(times(x, load_consecutive(b + 2 * i, count)), scale);
    store_consecutive(out + 2 * i, count, exchanged(product, exchange_out));
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// A vector from a window of memory: lanes outside of [lo, hi) are zero, and their memory is not read.
#pragma once

#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

#if TL_ISA_LEVEL >= 4
TL_INLINE uint32_t lane_bits(int lo, int hi) { return ((1u << hi) - 1u) & ~((1u << lo) - 1u); }

TL_INLINE VecF dense_lanes(const float* p, int lo, int hi) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lane_bits(lo, hi)), p);
}
TL_INLINE VecD dense_lanes(const double* p, int lo, int hi) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lane_bits(lo, hi)), p);
}
// Every second element: the even ones of two vectors.
TL_INLINE VecF even_lanes(const float* p, int lo, int hi) {
  const uint32_t bits = __builtin_ia32_pdep_si(lane_bits(lo, hi), 0x55555555u);
  const VecF a = _mm512_maskz_loadu_ps(static_cast<__mmask16>(bits), p);
  const VecF b = _mm512_maskz_loadu_ps(static_cast<__mmask16>(bits >> 16), p + 16);
  const __m512i even = bitcast<__m512i>(iota<VecI>() * 2);
  return _mm512_permutex2var_ps(a, even, b);
}
TL_INLINE VecD even_lanes(const double* p, int lo, int hi) {
  const uint32_t bits = __builtin_ia32_pdep_si(lane_bits(lo, hi), 0x5555u);
  const VecD a = _mm512_maskz_loadu_pd(static_cast<__mmask8>(bits), p);
  const VecD b = _mm512_maskz_loadu_pd(static_cast<__mmask8>(bits >> 8), p + 8);
  const __m512i even = bitcast<__m512i>(iota<VecL>() * 2);
  return _mm512_permutex2var_pd(a, even, b);
}
#elif TL_ISA_LEVEL >= 3
TL_INLINE VecF dense_lanes(const float* p, int lo, int hi) {
  const VecI lanes = iota<VecI>();
  return _mm256_maskload_ps(p, reinterpret_cast<__m256i>((lanes >= lo) & (lanes < hi)));
}
TL_INLINE VecD dense_lanes(const double* p, int lo, int hi) {
  const VecL lanes = iota<VecL>();
  return _mm256_maskload_pd(p, reinterpret_cast<__m256i>((lanes >= int64_t{lo}) & (lanes < int64_t{hi})));
}
#endif

template <class T>
TL_INLINE Vec<T> spaced_lanes(const T* p, int64_t stride, int lo, int hi) {
  Vec<T> v = {};
  for (int i = lo; i < hi; ++i) v[i] = p[(i - lo) * stride];
  return v;
}

// p[(lane - lo) * stride] for lanes lo..hi, with 0 <= lo, hi <= the number of lanes. Where a lane before lo
// would lie may be no address.
template <class T>
TL_INLINE Vec<T> load_lanes(const T* p, int64_t stride, int lo, int hi) {
  if (hi <= lo) return Vec<T>{};
#if TL_ISA_LEVEL >= 3
  if (stride == 1) return dense_lanes(p - lo, lo, hi);
#endif
#if TL_ISA_LEVEL >= 4
  if (stride == 2) return even_lanes(p - 2 * lo, lo, hi);
#endif
  return spaced_lanes(p, stride, lo, hi);
}

// As many elements as there are up to n.
template <class T>
TL_INLINE Vec<OpMath<T>> load_some(const T* p, int64_t n) {
  const auto* from = reinterpret_cast<const char*>(p);
  return n >= kLanes<OpMath<T>> ? load<T>(from) : load_partial<T>(from, static_cast<int>(n));
}
template <class T>
TL_INLINE void store_some(T* p, int64_t n, Vec<OpMath<T>> v) {
  auto* to = reinterpret_cast<char*>(p);
  if (n >= kLanes<OpMath<T>>)
    store<T>(to, v);
  else
    store_partial<T>(to, static_cast<int>(n), v);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

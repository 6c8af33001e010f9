// Split of a float32 into up to three bfloat16, stored in VNNI pairs.
#pragma once

#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kSplitBf16Terms = 3;

// Each takes what it can of what is left: cut off, but rounded, the first, where both factors are such sums.
template <bool rounds, int n = kSplitBf16Terms>
struct SplitBf16 {
  static constexpr int kCount = n;
  __m512i parts[n];

  TL_INLINE explicit SplitBf16(VecF v) {
    const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000)), half = _mm512_set1_epi32(0x8000);
    for (int i = 0; i < n; ++i) {
      const __m512i bits = bitcast<__m512i>(v);
      const bool rest = i + 1 == kSplitBf16Terms, last = i + 1 == n;
      const __m512i nearest = rounds && (i == 0 || last) ? _mm512_add_epi32(bits, half) : bits;
      parts[i] = rest ? bits : _mm512_and_si512(nearest, high);
      v = v - bitcast<VecF>(parts[i]);
    }
  }
};

// Numbers below 2^-102, whose last part may be denormal, become NaN, and so do sums of them.
TL_INLINE __m512i small_to_nan(__m512i pairs) {
  constexpr int16_t least = 2 * 0x0c80, none = 0x7fc0;
  const __m512i twice = _mm512_add_epi16(pairs, pairs);
  const __mmask32 small =
      _mm512_cmplt_epu16_mask(_mm512_add_epi16(twice, _mm512_set1_epi16(-1)), _mm512_set1_epi16(least - 1));
  return _mm512_mask_mov_epi16(pairs, small, _mm512_set1_epi16(none));
}

// Pairs of terms, a vector for each part, `step` apart.
template <bool small_is_nan, class Parts>
TL_INLINE void store_pairs(const Parts& first, const Parts& second, float* out, int64_t step) {
  constexpr __mmask64 kLow = 0x3333333333333333;  // the bytes of lower halves
  // For each byte of a lower half, which of its sixteen is the upper half's.
  const __m512i upper =
      _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 0, 0, 6, 7, 0, 0, 10, 11, 0, 0, 14, 15, 0, 0));
  for (int i = 0; i < Parts::kCount; ++i) {
    const __m512i pairs = _mm512_mask_shuffle_epi8(second.parts[i], kLow, first.parts[i], upper);
    _mm512_storeu_si512(out + i * step, small_is_nan && i == 0 ? small_to_nan(pairs) : pairs);
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

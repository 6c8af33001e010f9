// A float as the sum of three bfloat16, in pairs as instructions for tiles read them.
#pragma once

#include "kernels/cpu/memory.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kFloatParts = 3;

// Each takes what it can of what is left: cut off, or rounded where both factors are such sums.
template <bool rounds>
struct FloatParts {
  __m512i parts[kFloatParts];

  TL_INLINE explicit FloatParts(VecF v) {
    const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000)), half = _mm512_set1_epi32(0x8000);
    for (int i = 0; i + 1 < kFloatParts; ++i) {
      const __m512i bits = bitcast<__m512i>(v);
      parts[i] = _mm512_and_si512(rounds ? _mm512_add_epi32(bits, half) : bits, high);
      v = v - bitcast<VecF>(parts[i]);
    }
    parts[kFloatParts - 1] = bitcast<__m512i>(v);
  }
};

// Numbers below 2^-102, whose last part may be denormal, become NaN, and so do sums of them.
TL_INLINE __m512i without_small(__m512i pairs) {
  constexpr int16_t least = 2 * 0x0c80, none = 0x7fc0;
  const __m512i twice = _mm512_add_epi16(pairs, pairs);
  const __mmask32 small =
      _mm512_cmplt_epu16_mask(_mm512_add_epi16(twice, _mm512_set1_epi16(-1)), _mm512_set1_epi16(least - 1));
  return _mm512_mask_mov_epi16(pairs, small, _mm512_set1_epi16(none));
}

// Pairs of terms, a vector for each part, `step` apart.
template <bool marks_small, class Parts>
TL_INLINE void store_pairs(const Parts& first, const Parts& second, float* out, int64_t step) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int i = 0; i < kFloatParts; ++i) {
    const __m512i pairs =
        _mm512_or_si512(_mm512_srli_epi32(first.parts[i], 16), _mm512_and_si512(second.parts[i], high));
    _mm512_storeu_si512(out + i * step, marks_small && i == 0 ? without_small(pairs) : pairs);
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

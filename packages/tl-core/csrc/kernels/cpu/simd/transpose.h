// Transposing as many vectors as a vector has lanes, in registers.
#pragma once

#include <utility>

#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// By repeated perfect shuffles.
template <class T>
struct RegisterTranspose {
  static constexpr int kSide = kVecBytes / static_cast<int>(sizeof(T));
  using V = Vec<T>;

  template <size_t... I>
  static TL_INLINE V zip_low(V a, V b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b,
                                   (I % 2 ? kSide + static_cast<int>(I / 2) : static_cast<int>(I / 2))...);
  }
  template <size_t... I>
  static TL_INLINE V zip_high(V a, V b, std::index_sequence<I...>) {
    return __builtin_shufflevector(
        a, b, (kSide / 2 + (I % 2 ? kSide + static_cast<int>(I / 2) : static_cast<int>(I / 2)))...);
  }

  static TL_INLINE void shuffle(V* rows) {
    V next[kSide];
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = zip_low(rows[i], rows[i + kSide / 2], std::make_index_sequence<kSide>{});
      next[2 * i + 1] = zip_high(rows[i], rows[i + kSide / 2], std::make_index_sequence<kSide>{});
    }
    for (int i = 0; i < kSide; ++i) rows[i] = next[i];
  }

  static TL_INLINE void transpose(V* rows) {
#if TL_ISA_LEVEL >= 4
    if constexpr (sizeof(T) == 4) return transpose_by_quarters(reinterpret_cast<__m512*>(rows));
#endif
    for (int n = kSide; n > 1; n /= 2) shuffle(rows);
  }

#if TL_ISA_LEVEL >= 4
  // Four squares of four within the quarters of the vectors, then the quarters: twice as many of these
  // shuffles run in a cycle as of those across a whole vector.
  static TL_INLINE void transpose_by_quarters(__m512* rows) {
    __m512 columns[16];  // 4 * group + c: column c of each quarter, of four rows
    for (int i = 0; i < 16; i += 4) {
      const __m512d low = _mm512_castps_pd(_mm512_unpacklo_ps(rows[i], rows[i + 1])),
                    high = _mm512_castps_pd(_mm512_unpackhi_ps(rows[i], rows[i + 1])),
                    more_low = _mm512_castps_pd(_mm512_unpacklo_ps(rows[i + 2], rows[i + 3])),
                    more_high = _mm512_castps_pd(_mm512_unpackhi_ps(rows[i + 2], rows[i + 3]));
      columns[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, more_low));
      columns[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, more_low));
      columns[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high, more_high));
      columns[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high, more_high));
    }
    constexpr int kEven = 0x88, kOdd = 0xdd;  // of the quarters of two vectors
    for (int c = 0; c < 4; ++c) {
      const __m512 even = _mm512_shuffle_f32x4(columns[c], columns[4 + c], kEven),
                   odd = _mm512_shuffle_f32x4(columns[c], columns[4 + c], kOdd),
                   more_even = _mm512_shuffle_f32x4(columns[8 + c], columns[12 + c], kEven),
                   more_odd = _mm512_shuffle_f32x4(columns[8 + c], columns[12 + c], kOdd);
      rows[c] = _mm512_shuffle_f32x4(even, more_even, kEven);
      rows[8 + c] = _mm512_shuffle_f32x4(even, more_even, kOdd);
      rows[4 + c] = _mm512_shuffle_f32x4(odd, more_odd, kEven);
      rows[12 + c] = _mm512_shuffle_f32x4(odd, more_odd, kOdd);
    }
  }
#endif

  static TL_INLINE void transpose(char* out, int64_t out_stride, const char* in, int64_t in_stride) {
    V rows[kSide];
    for (int i = 0; i < kSide; ++i) rows[i] = read<V>(in + i * in_stride);
    transpose(rows);
    for (int i = 0; i < kSide; ++i) write(out + i * out_stride, rows[i]);
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

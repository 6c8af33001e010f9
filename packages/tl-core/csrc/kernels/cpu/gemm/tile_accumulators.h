// Accumulators of AMX tiles, and the tests for suspect sums: non-finite, small, or with subnormal operands.
#pragma once

#include <limits>

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// A bit for each row or column of a tile.
using RowMask = uint32_t;

// Sums of a tile, 32 columns apart.
class TileSums {
 public:
  static constexpr int kCols = 32, W = 16;

  TileSums(float* sums, int rows, int columns)
      : sums_(sums), rows_(rows), columns_(columns < kCols ? (RowMask{1} << columns) - 1 : ~RowMask{}) {}

  int rows() const { return rows_; }
  float* row(int i) const { return sums_ + i * kCols; }

  // Columns of suspect sums (not finite, or below the threshold where flushed subnormals matter), and of
  // zeros.
  RowMask suspect(int i) const { return of(i, &in_doubt) & columns_; }
  RowMask zeros(int i) const { return of(i, &is_zero) & columns_; }
  bool any_suspect() const { return any(&TileSums::suspect); }
  bool any_zero() const { return any(&TileSums::zeros); }
  void replace(int i, RowMask which, const float* by) const {
    for (int v = 0; v < 2; ++v)
      _mm512_mask_storeu_ps(row(i) + v * W, static_cast<__mmask16>(which >> v * W),
                            _mm512_loadu_ps(by + v * W));
  }

 private:
  static TL_INLINE __mmask16 in_doubt(__m512 v) {
    const __m512 size = _mm512_abs_ps(v);
    constexpr float kVisibleThreshold = 0x1p-80F;
    return static_cast<__mmask16>(
        ~_mm512_cmp_ps_mask(size, _mm512_set1_ps(std::numeric_limits<float>::max()), _CMP_LE_OQ) |
        _mm512_cmp_ps_mask(size, _mm512_set1_ps(kVisibleThreshold), _CMP_LT_OQ));
  }
  static TL_INLINE __mmask16 is_zero(__m512 v) {
    return _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_EQ_OQ);
  }
  template <class F>
  TL_INLINE bool any(F rows) const {
    RowMask some = 0;
    for (int i = 0; i < rows_; ++i) some |= (this->*rows)(i);
    return some;
  }
  template <class F>
  TL_INLINE RowMask of(int i, F which) const {
    return which(_mm512_loadu_ps(row(i))) | RowMask{which(_mm512_loadu_ps(row(i) + W))} << W;
  }

  float* sums_;
  int rows_;
  RowMask columns_;
};

// Whose product with another such term may be too small for a tile.
TL_INLINE __mmask32 subnormal_terms(const float* pairs) {
  constexpr int16_t least = 2 * 0x2000;  // 2^-63 as a bfloat16 without its sign
  const __m512i p = _mm512_loadu_si512(pairs);
  const __m512i twice = _mm512_add_epi16(_mm512_add_epi16(p, p), _mm512_set1_epi16(-1));
  return _mm512_cmplt_epu16_mask(twice, _mm512_set1_epi16(least - 1));
}

// Which of 32 packed rows, or of a panel's columns, contain subnormal elements.
template <class S>
RowMask subnormal_rows(const float* packed, int64_t depth) {
  constexpr int kSide = S::kSide;
  RowMask some = 0;
  for (int strip = 0; strip < 2; ++strip, packed += depth * kSide)
    for (int64_t p = 0; p < depth; p += S::kStep)
      for (int i = 0; i < kSide; ++i)
        some |= RowMask{subnormal_terms(packed + (p + i) * kSide) != 0} << (strip * kSide + i);
  return some;
}
template <class S>
RowMask subnormal_columns(const float* packed, int64_t depth) {
  constexpr int kSide = S::kSide;
  RowMask some = 0;
  for (int64_t p = 0; p < depth; p += S::kStep) {
    for (int i = 0; i < 2 * kSide; ++i) {
      const __mmask32 terms = subnormal_terms(packed + p * S::kCols + i * kSide);
      some |= RowMask{_pext_u32(terms | terms >> 1, 0x55555555)} << (i % 2 * kSide);
    }
  }
  return some;
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

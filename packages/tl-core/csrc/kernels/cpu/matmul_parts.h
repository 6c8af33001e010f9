// Products of floats by the instructions for tiles of bfloat16. A float is the sum of three bfloat16, so that
// a product is that of six pairs of parts and of three more, which are left out: together they are below half
// a unit in its last place.
#pragma once

#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/matmul_tiles.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

struct InParts {
  using E = float;
  struct Tile {
    static constexpr int kRows = 32, kCols = 32;
    static constexpr int64_t kDepth = 512, kBlockRows = 8 * kRows, kBlockCols = 2048;
  };
  using Session = TileSession;
  static constexpr int kSide = 16, kParts = 3;
  static constexpr int64_t kRound = kParts * kSide, kTerms = 2 * kSide;  // of the terms that go together

  static void pack_rows(float* packed, Operand<float> a, int rows, int64_t terms, int64_t depth) {
    for (int r = 0; r < rows || r % Tile::kRows; r += kSide)
      pack_strip<true>(packed + r * depth, kSide, {a.at(r, 0), a.row, a.column}, rows - r, terms);
  }
  static void pack_columns(float* packed, Operand<float> b, int columns, int64_t terms, int64_t) {
    for (int j = 0; j < Tile::kCols; j += kSide)
      pack_strip<false>(packed + j, Tile::kCols, {b.at(0, j), b.column, b.row}, columns - j, terms);
  }

  // Instructions for tiles take what is denormal for 0: sums that this could be seen in, and those that are
  // not finite, are formed of floats.
  static void mend(float* sums, Operand<float> a, Operand<float> b, int rows, int columns, int64_t terms) {
    bool sure = true;
    for (int i = 0; i < rows * Tile::kCols; i += kSide) sure &= unsure(at(sums + i)) == 0;
    if (sure) return;
    alignas(64) float exact[Tile::kRows * Tile::kCols];
    float_product()({rows, columns, terms, view(a), view(b), {bytes(exact), Tile::kCols, 1}, {}});
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        float& sum = sums[i * Tile::kCols + j];
        if (unsure(VecF{} + sum)) sum = exact[i * Tile::kCols + j];
      }
    }
  }

 private:
  using V = VecF;

  static V at(const float* p) { return read<V>(reinterpret_cast<const char*>(p)); }
  static char* bytes(const float* p) { return reinterpret_cast<char*>(const_cast<float*>(p)); }
  static MatrixView view(Operand<float> v) { return {bytes(v.data), v.row, v.column}; }

  // All but 0 below 2^-60, and what is not finite.
  static __mmask16 unsure(V sum) {
    const __m512i twice = _mm512_slli_epi32(bitcast<__m512i>(sum), 1);
    constexpr uint32_t least = 0x43000000, infinite = 0xff000000;
    const __mmask16 other = _mm512_cmpge_epu32_mask(_mm512_sub_epi32(twice, _mm512_set1_epi32(least)),
                                                    _mm512_set1_epi32(static_cast<int>(infinite - least)));
    return other & _mm512_test_epi32_mask(twice, twice);
  }

  // The parts of pairs of terms: what is left is rounded to the upper half of its bits.
  static TL_INLINE void split(V first, V second, float* out, int64_t step) {
    const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000)), half = _mm512_set1_epi32(0x8000);
    __m512i x = bitcast<__m512i>(first), y = bitcast<__m512i>(second);
    for (int part = 0; part < kParts; ++part, out += step) {
      const bool rest = part == kParts - 1;
      const __m512i upper_x = rest ? x : _mm512_and_si512(_mm512_add_epi32(x, half), high);
      const __m512i upper_y = _mm512_and_si512(rest ? y : _mm512_add_epi32(y, half), high);
      __m512i pairs = _mm512_or_si512(_mm512_srli_epi32(upper_x, 16), upper_y);
      if (part == 0) pairs = without_small(pairs);
      _mm512_storeu_si512(out, pairs);
      x = bitcast<__m512i>(bitcast<V>(x) - bitcast<V>(upper_x));
      y = bitcast<__m512i>(bitcast<V>(y) - bitcast<V>(upper_y));
    }
  }
  // Numbers below 2^-102, whose last part may be denormal, become NaN, and so do sums of them.
  static TL_INLINE __m512i without_small(__m512i pairs) {
    constexpr int16_t least = 2 * 0x0c80, none = 0x7fc0;
    const __m512i twice = _mm512_add_epi16(pairs, pairs);
    const __mmask32 small =
        _mm512_cmplt_epu16_mask(_mm512_add_epi16(twice, _mm512_set1_epi16(-1)), _mm512_set1_epi16(least - 1));
    return _mm512_mask_mov_epi16(pairs, small, _mm512_set1_epi16(none));
  }

  static V line(const float* p, int64_t step, int64_t n) {
    if (n <= 0) return V{};
    const int lanes = n < kSide ? static_cast<int>(n) : kSide;
    const char* from = reinterpret_cast<const char*>(p);
    if (step != 1) return load_strided<float>(from, step * static_cast<int64_t>(sizeof(float)), lanes);
    return lanes == kSide ? at(p) : load_partial<float>(from, lanes);
  }

  // Some rows and terms of a, up to sixteen, as vectors of terms or of rows.
  template <bool in_rows>
  static void square(float* out, Operand<float> a, int64_t rows, int64_t terms) {
    V lines[kSide];
    const bool along = a.column == 1;
    if (along && rows >= kSide && terms >= kSide) {
      for (int i = 0; i < kSide; ++i) lines[i] = at(a.at(i, 0));
    } else {
      for (int i = 0; i < kSide; ++i)
        lines[i] =
            along ? line(a.at(i, 0), 1, i < rows ? terms : 0) : line(a.at(0, i), a.row, i < terms ? rows : 0);
    }
    if (along != in_rows) Square<float>::transpose(lines);
    for (int i = 0; i < kSide; ++i) write(bytes(out + i * kSide), lines[i]);
  }

  // Sixteen rows of a, each of whose terms is paired with the sixteenth after it: rows of pairs, or columns.
  // Rows of the result lie `step` apart.
  template <bool in_rows>
  static void pack_strip(float* out, int64_t step, Operand<float> a, int64_t rows, int64_t terms) {
    const int64_t across = in_rows ? a.row : a.column;
    const bool lies_so = rows >= kSide && (in_rows ? a.column : a.row) == 1;
    alignas(64) float squares[2][kSide * kSide];
    for (int64_t p = 0; p < terms; p += kTerms, out += kRound * step) {
      const float *x = squares[0], *y = squares[1];
      int64_t next = kSide;
      if (lies_so && terms - p >= kTerms) {
        x = a.at(0, p), y = a.at(0, p + kSide), next = across;
      } else {
        square<in_rows>(squares[0], {a.at(0, p), a.row, a.column}, rows, terms - p);
        square<in_rows>(squares[1], {a.at(0, p + kSide), a.row, a.column}, rows, terms - p - kSide);
      }
      if (in_rows) {
        for (int i = 0; i < kSide; ++i)
          __builtin_prefetch(x + i * next + kTerms), __builtin_prefetch(y + i * next + kTerms);
      }
      for (int i = 0; i < kSide; ++i) split(at(x + i * next), at(y + i * next), out + i * step, kSide * step);
    }
  }
};

// Sums of 16 or 32 rows: least parts first.
template <bool two>
TL_TILES void parts_micro(float* out, const float* a, int64_t, int64_t, const float* b, int64_t,
                          int64_t depth) {
  constexpr int kSide = 16, kSquare = kSide * kSide, kRow = 2 * kSide * sizeof(float);
  const float* below = two ? a + depth * kSide : a;
  clear_sums();
  for (int64_t p = 0; p < depth; p += InParts::kRound) {
    constexpr int order[][2] = {{0, 2}, {0, 1}, {0, 0}, {1, 0}, {1, 1}, {2, 0}};
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) {
      const int part = order[i][0], other = order[i][1];
      if (i == 0 || part != order[i - 1][0]) {
        _tile_loadd(4, a + p * kSide + part * kSquare, 64);
        _tile_loadd(5, below + p * kSide + part * kSquare, 64);
      }
      if (i == 0 || other != order[i - 1][1]) {
        _tile_loadd(6, b + (p + other * kSide) * 2 * kSide, kRow);
        _tile_loadd(7, b + (p + other * kSide) * 2 * kSide + kSide, kRow);
      }
      add_products<float, two>();
    }
  }
  store_sums<float, two>(out);
}

inline const Micro<float>* parts_micros(int) {
  static constexpr auto kernels = two_heights<float>(&parts_micro<false>, &parts_micro<true>);
  return kernels.data();
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

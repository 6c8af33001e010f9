// Products of floats by the instructions for tiles of bfloat16. A float is the sum of three bfloat16, so that
// a product is that of six pairs of parts and of three more, which are left out: together they are below half
// a unit in its last place. Instructions for tiles take what is denormal for 0.
#pragma once

#include "kernels/cpu/float_parts.h"
#include "kernels/cpu/matmul_tiles.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

struct InParts {
  using E = float;
  static constexpr int kSide = 16, kRows = 32, kCols = 32;
  static constexpr int64_t kRound = kFloatParts * kSide, kTerms = 2 * kSide;  // of the terms that go together

  static void pack_rows(float* packed, Operand<float> a, int rows, int64_t terms, int64_t depth) {
    for (int r = 0; r < rows || r % kRows; r += kSide)
      pack_strip<true>(packed + r * depth, kSide, {a.at(r, 0), a.row, a.column}, rows - r, terms);
  }
  static void pack_columns(float* packed, Operand<float> b, int columns, int64_t terms, int64_t) {
    for (int j = 0; j < kCols; j += kSide)
      pack_strip<false>(packed + j, kCols, {b.at(0, j), b.column, b.row}, columns - j, terms);
  }

  // To the sums of 16 or 32 rows: least parts first.
  template <bool two>
  static TL_TILES void add(const float* a, const float* b, int64_t depth) {
    constexpr int kSquare = kSide * kSide, kRow = 2 * kSide * sizeof(float);
    const float* below = two ? a + depth * kSide : a;
    for (int64_t p = 0; p < depth; p += kRound) {
      constexpr int order[][2] = {{0, 2}, {0, 1}, {0, 0}, {1, 0}, {1, 1}, {2, 0}};
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) {
        const int part = order[i][0], other = order[i][1];
        if (i == 0 || part != order[i - 1][0]) {
          _tile_loadd(4, a + p * kSide + part * kSquare, 64);
          if (two) _tile_loadd(5, below + p * kSide + part * kSquare, 64);
        }
        if (i == 0 || other != order[i - 1][1]) {
          _tile_loadd(6, b + (p + other * kSide) * 2 * kSide, kRow);
          _tile_loadd(7, b + (p + other * kSide) * 2 * kSide + kSide, kRow);
        }
        add_products<float, two>();
      }
    }
  }

 private:
  using V = VecF;

  static V at(const float* p) { return read<V>(reinterpret_cast<const char*>(p)); }
  static char* bytes(const float* p) { return reinterpret_cast<char*>(const_cast<float*>(p)); }

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
      for (int i = 0; i < kSide; ++i)
        store_pairs<true>(FloatParts<true>(at(x + i * next)), FloatParts<true>(at(y + i * next)),
                          out + i * step, kSide * step);
    }
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

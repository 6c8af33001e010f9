// Float32 GEMM by split bfloat16 on AMX tiles (Henry, Tang and Heinecke, 2019). A float32 is the sum of three
// bfloat16; of the nine products of their pairs six are computed, and the three left out are together below
// half a unit in the last place of the product. Fewer bfloat16 give fewer bits. AMX flushes subnormals to 0.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/cpu/gemm/amx_tiles.h"
#include "kernels/cpu/gemm/split_bf16.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <int parts = kSplitBf16Terms>
struct SplitBf16Format {
  using E = float;
  using Storage = float;
  static constexpr bool kLosesTerms = true;
  static constexpr int kSide = 16, kRows = 32, kCols = 32;
  static constexpr int64_t kStep = parts * kSide, kPack = 2 * kSide;  // of the terms that go together

  static void pack_rows(float* packed, Operand<float> a, int rows, int64_t terms, int64_t depth) {
    const int64_t slice = a.row == 1 && a.column != 1 ? kPack : terms;  // of terms whose rows are dense
    for (int64_t p = 0; p < terms; p += slice)
      for (int r = 0; r < rows || r % kRows; r += kSide)
        pack_strip<true>(packed + r * depth + p / kPack * kStep * kSide, kSide, {a.at(r, p), a.row, a.column},
                         rows - r, std::min(terms - p, slice));
  }
  static void pack_columns(float* packed, Operand<float> b, int columns, int64_t terms, int64_t) {
    for (int j = 0; j < kCols; j += kSide)
      pack_strip<false>(packed + j, kCols, {b.at(0, j), b.column, b.row}, columns - j, terms);
  }

  // To the sums of 16 or, if two, 32 rows, of which the second half stands `below`: what is least first.
  template <bool two>
  static TL_TILES void add(const float* a, const float* below, const float* b, int64_t depth) {
    constexpr int kTileElements = kSide * kSide, kRow = kCols * sizeof(float);
    for (int64_t p = 0; p < depth; p += kStep) {
#pragma GCC unroll 6
      for (size_t i = 0; i < kOrder.size(); ++i) {
        const auto [part, other] = kOrder[i];
        if (i == 0 || part != kOrder[i - 1].part) {
          _tile_loadd(4, a + p * kSide + part * kTileElements, 64);
          if (two) _tile_loadd(5, below + p * kSide + part * kTileElements, 64);
        }
        if (i == 0 || other != kOrder[i - 1].other) {
          _tile_loadd(6, b + (p + other * kSide) * kCols, kRow);
          _tile_loadd(7, b + (p + other * kSide) * kCols + kSide, kRow);
        }
        add_products<float, two>();
      }
    }
  }

 private:
  using V = VecF;
  using Parts = SplitBf16<true, parts>;

  // Which parts of two factors are multiplied, one pair after another: to and fro, as a part that stays need
  // not be loaded.
  struct Pair {
    int part, other;
  };
  static constexpr auto kOrder = [] {
    std::array<Pair, parts*(parts + 1) / 2> order{};
    size_t n = 0;
    for (int i = 0; i < parts; ++i)
      for (int j = 0; j < parts - i; ++j) order[n++] = {i, i % 2 ? j : parts - i - 1 - j};
    return order;
  }();

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
    if (along != in_rows) RegisterTranspose<float>::transpose(lines);
    for (int i = 0; i < kSide; ++i) write(bytes(out + i * kSide), lines[i]);
  }

  // Of x and y, `next` apart, while what comes `ahead` is prefetched.
  static TL_INLINE void pack_lines(float* out, int64_t step, const float* x, const float* y, int64_t next,
                                   int64_t ahead) {
    for (int i = 0; i < kSide; ++i, x += next, y += next, out += step) {
      __builtin_prefetch(x + ahead), __builtin_prefetch(y + ahead);
      store_pairs<true>(Parts(at(x)), Parts(at(y)), out, kSide * step);
    }
  }

  // Sixteen rows of a, each of whose terms is paired with the sixteenth after it: rows of pairs, or columns.
  // Rows of the result lie `step` apart.
  template <bool in_rows>
  static void pack_strip(float* out, int64_t step, Operand<float> a, int64_t rows, int64_t terms) {
    const bool lies_so = rows >= kSide && (in_rows ? a.column : a.row) == 1;
    for (int64_t p = 0; p < terms; p += kPack, out += kStep * step) {
      if (lies_so && terms - p >= kPack) {
        pack_lines(out, step, a.at(0, p), a.at(0, p + kSide), in_rows ? a.row : a.column, kPack * a.column);
      } else {
        alignas(64) float squares[2][kSide * kSide];
        square<in_rows>(squares[0], {a.at(0, p), a.row, a.column}, rows, terms - p);
        square<in_rows>(squares[1], {a.at(0, p + kSide), a.row, a.column}, rows, terms - p - kSide);
        pack_lines(out, step, squares[0], squares[1], kSide, 0);
      }
    }
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

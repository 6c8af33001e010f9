// The tiles of a blocked matrix product, and the panels its operands are copied into.
#pragma once

#include "kernels/cpu/square.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// A micro-kernel keeps kRows x kColumns sums in registers.
template <class T>
struct Tile {
  static constexpr int kVectors = 2, kWidth = kLanes<T>, kCols = kVectors * kWidth;
  static constexpr int kRows = kIsaLevel >= 4 ? 14 : kIsaLevel >= 3 ? 6 : 4;
  static constexpr int64_t kDepth = 512;  // of a block: a panel of b stays near the first-level cache
  static constexpr int64_t kBlockRows = kRows * 16;  // at most
  static constexpr int64_t kBlockCols = 2048;
};

template <class T>
struct Operand {
  const T* data;
  int64_t row, column;  // strides in elements

  const T* at(int64_t i, int64_t j) const { return data + i * row + j * column; }
};

// How elements of memory become elements of a panel, which a micro-kernel multiplies as Element.
template <class T>
struct Plain {
  using Storage = T;
  using Element = Compute<T>;
  static constexpr int kTerms = 1;  // terms of the sum in an element

  // The elements of consecutive terms; those of `n` consecutive rows or columns, whose terms lie `step`
  // apart.
  static TL_INLINE Vec<Element> along(const T* p) { return load<T>(reinterpret_cast<const char*>(p)); }
  static TL_INLINE Vec<Element> across(const T* p, int64_t, int n) {
    return n == kLanes<Element> ? along(p) : load_partial<T>(reinterpret_cast<const char*>(p), n);
  }
  // Of a row with `left` more terms.
  static TL_INLINE Element one(const T* p, int64_t, int) { return static_cast<Element>(*p); }
};

// Rows i.. of a, `rows` of them, terms 0..depth: out[p * kRows + i]. The panel has room for one vector more.
template <class F>
void pack_rows_as(typename F::Element* out, Operand<typename F::Storage> a, int rows, int64_t terms) {
  using E = typename F::Element;
  using V = Vec<E>;
  constexpr int kRows = Tile<E>::kRows, W = kLanes<E>, kGroups = (kRows + W - 1) / W, kTerms = F::kTerms;
  const int64_t depth = (terms + kTerms - 1) / kTerms, whole = terms / kTerms;
  int64_t p = 0;
  if (a.column == 1) {
    for (; p + W <= whole; p += W) {
      V squares[kGroups][W];
      for (int g = 0; g < kGroups; ++g) {
        for (int i = 0; i < W; ++i) {
          const int row = g * W + i;
          squares[g][i] = row < rows ? F::along(a.at(row, p * kTerms)) : V{};
          if (row < rows) __builtin_prefetch(a.at(row + kRows, p * kTerms), 0, 2);
        }
        Square<E>::transpose(squares[g]);
      }
      // Ascending: what a vector writes beyond its panel's rows is overwritten by the next.
      for (int q = 0; q < W; ++q) {
        for (int g = 0; g < kGroups; ++g)
          write(reinterpret_cast<char*>(out + (p + q) * kRows + g * W), squares[g][q]);
      }
    }
  } else if (a.row == 1) {
    for (; p < whole; ++p) {
      for (int g = 0; g < kGroups; ++g) {
        const int n = rows - g * W < W ? rows - g * W : W, room = kRows - g * W;
        const V v = n > 0 ? F::across(a.at(g * W, p * kTerms), a.column, n) : V{};
        char* to = reinterpret_cast<char*>(out + p * kRows + g * W);
        if (room < W && p + 1 == whole)
          store_partial<E>(to, room, v);
        else
          write(to, v);
      }
    }
  }
  for (; p < depth; ++p) {
    const int left = static_cast<int>(terms - p * kTerms);
    for (int i = 0; i < kRows; ++i)
      out[p * kRows + i] = i < rows ? F::one(a.at(i, p * kTerms), a.column, left) : E{};
  }
}

// Columns 0..columns of b, terms 0..depth: out[p * kCols + j], zeros beyond `columns`.
template <class F>
void pack_columns_as(typename F::Element* out, Operand<typename F::Storage> b, int columns, int64_t terms) {
  using E = typename F::Element;
  using V = Vec<E>;
  constexpr int kCols = Tile<E>::kCols, W = kLanes<E>, kTerms = F::kTerms;
  const int64_t depth = (terms + kTerms - 1) / kTerms, whole = terms / kTerms;
  int64_t p = 0;
  if (b.column == 1 && columns == kCols) {
    for (; p < whole; ++p) {
      for (int j = 0; j < kCols; j += W)
        write(reinterpret_cast<char*>(out + p * kCols + j), F::across(b.at(p * kTerms, j), b.row, W));
      for (int j = kCols; j < 2 * kCols; j += W) __builtin_prefetch(b.at(p * kTerms, j), 0, 2);
    }
  } else if (b.column == 1) {
    for (; p < whole; ++p) {
      for (int j = 0; j < kCols; j += W) {
        const int n = columns - j < W ? columns - j : W;
        write(reinterpret_cast<char*>(out + p * kCols + j),
              n > 0 ? F::across(b.at(p * kTerms, j), b.row, n) : V{});
      }
    }
  } else if (b.row == 1) {
    for (; p + W <= whole; p += W) {
      for (int j = 0; j < kCols; j += W) {
        V square[W];
        for (int i = 0; i < W; ++i) square[i] = j + i < columns ? F::along(b.at(p * kTerms, j + i)) : V{};
        Square<E>::transpose(square);
        for (int q = 0; q < W; ++q) write(reinterpret_cast<char*>(out + (p + q) * kCols + j), square[q]);
      }
    }
  }
  for (; p < depth; ++p) {
    const int left = static_cast<int>(terms - p * kTerms);
    for (int j = 0; j < kCols; ++j)
      out[p * kCols + j] = j < columns ? F::one(b.at(p * kTerms, j), b.row, left) : E{};
  }
}

template <class T>
void pack_rows(T* out, Operand<T> a, int rows, int64_t depth) {
  pack_rows_as<Plain<T>>(out, a, rows, depth);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

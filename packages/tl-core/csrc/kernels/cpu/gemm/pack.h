// Packing for blocked GEMM: tile sizes, and the panels that operands are copied into.
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/simd/transpose.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// A micro-kernel keeps kRows x kCols sums in registers. With 32 of them 14 rows of two vectors would fit as
// well, but read more for every sum.
template <class T>
struct Tile {
  static constexpr int kVectors = kIsaLevel >= 4 ? 3 : 2, kCols = kVectors * kLanes<T>;
  static constexpr int kRows = kIsaLevel >= 4 ? 8 : kIsaLevel >= 3 ? 6 : 4;
  static constexpr int64_t kDepth = 512;                      // of a block
  static constexpr int64_t kBlockRows = 224 / kRows * kRows;  // at most
  static constexpr int64_t kBlockCols = 2304 / kCols * kCols;
};

// How many vectors hold some columns of a panel.
template <class T>
constexpr int vectors_for(int columns) {
  return (columns + kLanes<T> - 1) / kLanes<T>;
}

// Columns in as few panels as hold them, whose widths differ by a vector at most: the sums of a narrow one
// take longer.
template <class T>
class Panels {
 public:
  explicit Panels(int64_t columns)
      : columns_(columns),
        vectors_((columns + kLanes<T> - 1) / kLanes<T>),
        count_((vectors_ + Tile<T>::kVectors - 1) / Tile<T>::kVectors) {}

  int64_t count() const { return count_; }
  int64_t begin(int64_t panel) const { return part_begin(panel, count_, vectors_) * kLanes<T>; }
  int columns(int64_t panel) const {
    return static_cast<int>(std::min(begin(panel + 1), columns_) - begin(panel));
  }

 private:
  int64_t columns_, vectors_, count_;
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
  using Element = OpMath<T>;
  static constexpr int kPack = 1;  // terms of the sum in an element

  // The elements of consecutive terms; those of `n` consecutive rows or columns, whose terms lie `step`
  // apart.
  static TL_INLINE Vec<Element> along(const T* p) { return load<T>(reinterpret_cast<const char*>(p)); }
  static TL_INLINE Vec<Element> across(const T* p, int64_t, int n) {
    return n == kLanes<Element> ? along(p) : load_partial<T>(reinterpret_cast<const char*>(p), n);
  }
  // Of a row with `left` more terms.
  static TL_INLINE Element one(const T* p, int64_t, int) { return static_cast<Element>(*p); }
};

template <class V, size_t... I>
TL_INLINE auto upper_half(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(sizeof...(I) + I))...);
}

// Packs rows whose K is contiguous, transposing blocks in registers. Returns how many steps of K it packed.
template <class F>
TL_INLINE int64_t pack_contiguous_k(typename F::Element* out, Operand<typename F::Storage> a, int rows,
                                    int64_t whole) {
  using E = typename F::Element;
  using V = Vec<E>;
  constexpr int kRows = Tile<E>::kRows, W = kLanes<E>, kGroups = (kRows + W - 1) / W, kPack = F::kPack;
  int64_t p = 0;
  constexpr int kRuns = W % kRows ? 1 : W / kRows;  // of W steps of K, in a transpose
  static_assert(kRuns <= 2);
  for (; p + kRuns * W <= whole; p += kRuns * W) {
    V squares[kGroups][W];
    for (int g = 0; g < kGroups; ++g) {
      for (int i = 0; i < W; ++i) {
        const int run = kRuns > 1 ? i / kRows : 0, row = g * W + i - run * kRows;
        const int64_t term = (p + run * W) * kPack;
        squares[g][i] = row < rows ? F::along(a.at(row, term)) : V{};
        if (row < rows) __builtin_prefetch(a.at(row + kRows, term), 0, 2);
      }
      RegisterTranspose<E>::transpose(squares[g]);
    }
    // Ascending: what a vector writes beyond its panel's rows is overwritten by the next.
    for (int q = 0; q < W; ++q) {
      for (int g = 0; g < kGroups; ++g)
        write(reinterpret_cast<char*>(out + (p + q) * kRows + g * W), squares[g][q]);
    }
    if constexpr (kRuns == 2) {
      for (int q = 0; q < W; ++q)
        write(reinterpret_cast<char*>(out + (p + W + q) * kRows),
              upper_half(squares[0][q], std::make_index_sequence<W / 2>{}));
    }
  }
  return p;
}

// Packs rows that are contiguous for each k. Returns how many steps of K it packed.
template <class F>
TL_INLINE int64_t pack_contiguous_rows(typename F::Element* out, Operand<typename F::Storage> a, int rows,
                                       int64_t whole) {
  using E = typename F::Element;
  using V = Vec<E>;
  constexpr int kRows = Tile<E>::kRows, W = kLanes<E>, kGroups = (kRows + W - 1) / W, kPack = F::kPack;
  int64_t p = 0;
  for (; p < whole; ++p) {
    for (int g = 0; g < kGroups; ++g) {
      const int n = rows - g * W < W ? rows - g * W : W, room = kRows - g * W;
      const V v = n > 0 ? F::across(a.at(g * W, p * kPack), a.column, n) : V{};
      char* to = reinterpret_cast<char*>(out + p * kRows + g * W);
      if (room < W && p + 1 == whole)
        store_partial<E>(to, room, v);
      else
        write(to, v);
    }
  }
  return p;
}

// Packs `rows` rows of a, K from 0 to `terms`: out[p * kRows + i]. The panel has room for one vector more.
template <class F>
void pack_rows_as(typename F::Element* out, Operand<typename F::Storage> a, int rows, int64_t terms) {
  using E = typename F::Element;
  constexpr int kRows = Tile<E>::kRows, kPack = F::kPack;
  const int64_t depth = (terms + kPack - 1) / kPack, whole = terms / kPack;
  int64_t p = 0;
  if (a.column == 1)
    p = pack_contiguous_k<F>(out, a, rows, whole);
  else if (a.row == 1)
    p = pack_contiguous_rows<F>(out, a, rows, whole);
  for (; p < depth; ++p) {
    const int left = static_cast<int>(terms - p * kPack);
    for (int i = 0; i < kRows; ++i)
      out[p * kRows + i] = i < rows ? F::one(a.at(i, p * kPack), a.column, left) : E{};
  }
}

// Columns 0..columns of b, terms 0..depth: out[p * kCols + j], zeros beyond `columns`.
template <class F, int kCols = Tile<typename F::Element>::kCols>
void pack_columns_as(typename F::Element* out, Operand<typename F::Storage> b, int columns, int64_t terms) {
  using E = typename F::Element;
  using V = Vec<E>;
  constexpr int W = kLanes<E>, kPack = F::kPack;
  const int64_t depth = (terms + kPack - 1) / kPack, whole = terms / kPack;
  int64_t p = 0;
  if (b.column == 1 && columns == kCols) {
    for (; p < whole; ++p) {
      for (int j = 0; j < kCols; j += W)
        write(reinterpret_cast<char*>(out + p * kCols + j), F::across(b.at(p * kPack, j), b.row, W));
      for (int j = kCols; j < 2 * kCols; j += W) __builtin_prefetch(b.at(p * kPack, j), 0, 2);
    }
  } else if (b.column == 1) {
    for (; p < whole; ++p) {
      for (int j = 0; j < kCols; j += W) {
        const int n = columns - j < W ? columns - j : W;
        write(reinterpret_cast<char*>(out + p * kCols + j),
              n > 0 ? F::across(b.at(p * kPack, j), b.row, n) : V{});
      }
    }
  } else if (b.row == 1) {
    for (; p + W <= whole; p += W) {
      for (int j = 0; j < kCols; j += W) {
        V square[W];
        for (int i = 0; i < W; ++i) square[i] = j + i < columns ? F::along(b.at(p * kPack, j + i)) : V{};
        if (j < columns) RegisterTranspose<E>::transpose(square);
        for (int q = 0; q < W; ++q) write(reinterpret_cast<char*>(out + (p + q) * kCols + j), square[q]);
      }
    }
  }
  for (; p < depth; ++p) {
    const int left = static_cast<int>(terms - p * kPack);
    for (int j = 0; j < kCols; ++j)
      out[p * kCols + j] = j < columns ? F::one(b.at(p * kPack, j), b.row, left) : E{};
  }
}

template <class T>
void pack_rows(T* out, Operand<T> a, int rows, int64_t depth) {
  pack_rows_as<Plain<T>>(out, a, rows, depth);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

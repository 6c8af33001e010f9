// The tiles of a blocked matrix product, and the panels its operands are copied into.
#pragma once

#include "kernels/cpu/square.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// A micro-kernel keeps kRows x kColumns sums in registers.
template <class T>
struct Tile {
  static constexpr int kVectors = 2, kWidth = kLanes<T>, kCols = kVectors * kWidth;
  static constexpr int kRows = kIsaLevel >= 4 ? 14 : kIsaLevel >= 3 ? 6 : 4;
  static constexpr int64_t kDepth = 256;  // of a block: a panel of b stays in the first-level cache
  static constexpr int64_t kBlockRows = kRows * 16;  // a block of a stays in the second-level cache
  static constexpr int64_t kBlockCols = 2048;
};

template <class T>
struct Operand {
  const T* data;
  int64_t row, column;  // strides in elements

  const T* at(int64_t i, int64_t j) const { return data + i * row + j * column; }
};

// Rows i.. of a, `rows` of them, columns 0..depth: out[p * kRows + i]. The panel has room for one vector
// more.
template <class T>
void pack_rows(T* out, Operand<T> a, int rows, int64_t depth) {
  constexpr int kRows = Tile<T>::kRows, W = kLanes<T>, kGroups = (kRows + W - 1) / W;
  using V = Vec<T>;
  int64_t p = 0;
  if (a.column == 1) {
    for (; p + W <= depth; p += W) {
      V squares[kGroups][W];
      for (int g = 0; g < kGroups; ++g) {
        for (int i = 0; i < W; ++i) {
          const int row = g * W + i;
          squares[g][i] = row < rows ? read<V>(reinterpret_cast<const char*>(a.at(row, p))) : V{};
        }
        Square<T>::transpose(squares[g]);
      }
      // Ascending: what a vector writes beyond its panel's rows is overwritten by the next.
      for (int q = 0; q < W; ++q) {
        for (int g = 0; g < kGroups; ++g)
          write(reinterpret_cast<char*>(out + (p + q) * kRows + g * W), squares[g][q]);
      }
    }
  }
  for (; p < depth; ++p) {
    for (int i = 0; i < kRows; ++i) out[p * kRows + i] = i < rows ? *a.at(i, p) : T{};
  }
}

// Columns 0..columns of b, rows 0..depth: out[p * kCols + j], zeros beyond `columns`.
template <class T>
void pack_columns(T* out, Operand<T> b, int columns, int64_t depth) {
  constexpr int kCols = Tile<T>::kCols, W = kLanes<T>;
  using V = Vec<T>;
  if (b.column == 1 && columns == kCols) {
    for (int64_t p = 0; p < depth; ++p) {
      for (int j = 0; j < kCols; j += W) {
        write(reinterpret_cast<char*>(out + p * kCols + j),
              read<V>(reinterpret_cast<const char*>(b.at(p, j))));
      }
    }
    return;
  }
  int64_t p = 0;
  if (b.row == 1) {
    for (; p + W <= depth; p += W) {
      for (int j = 0; j < kCols; j += W) {
        V square[W];
        for (int i = 0; i < W; ++i)
          square[i] = j + i < columns ? read<V>(reinterpret_cast<const char*>(b.at(p, j + i))) : V{};
        Square<T>::transpose(square);
        for (int q = 0; q < W; ++q) write(reinterpret_cast<char*>(out + (p + q) * kCols + j), square[q]);
      }
    }
  }
  for (; p < depth; ++p) {
    for (int j = 0; j < kCols; ++j) out[p * kCols + j] = j < columns ? *b.at(p, j) : T{};
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

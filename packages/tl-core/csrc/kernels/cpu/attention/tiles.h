// Attention operands in tiles of queries and keys.
#pragma once

#include "base/parallel.h"
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/masked_load.h"
#include "kernels/cpu/simd/transpose.h"

// May use what converts two vectors to bfloat16: where products do so, too.
#if TL_ISA_LEVEL >= 4
#define TL_NARROWS __attribute__((target("avx512bf16")))
#else
#define TL_NARROWS
#endif

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {  // a part of attention.cpp

// Of a tile, at most.
constexpr int64_t kQueries = 128;

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows of a tile: few where half of a tile is hidden, as many as a mask is drawn for, else as even as the
// products' 32 rows at a time allow.
int64_t tile_queries(const Attention& c) {
  if (c.causal || c.rng_states) return kDropoutTileRows;
  const int64_t tiles = (c.shape.queries + kQueries - 1) / kQueries,
                even = (c.shape.queries + tiles - 1) / tiles;
  return (even + 31) / 32 * 32;
}

// Columns of a tile.
int64_t tile_keys(const Attention& c, int64_t most) { return least(most, c.shape.keys / 32 * 32 + 32); }
// How far apart rows stand: not by a power of two, as these would meet in the same places of a cache.
constexpr int64_t apart(int64_t width) { return width + 32; }

struct RowIndex {
  int64_t batch, head, row;
};

template <class T>
char* address(const AttentionTensor& t, RowIndex at) {
  return t.data + (at.batch * t.batch + at.head * t.head + at.row * t.row) * static_cast<int64_t>(sizeof(T));
}

// What products read: bfloat16 as it is, float16, whose range is narrow, in float.
template <class T>
using Factor = std::conditional_t<std::is_same_v<T, BFloat16>, T, OpMath<T>>;
template <class T>
inline constexpr bool kSplitBf16 = kIsaLevel >= 4 && std::is_same_v<Factor<T>, float>;  // by tiles
template <class T>
inline constexpr bool kReadsAsIs = std::is_same_v<Factor<T>, T>;

// Rows of a tensor as factors: where they stand, or packed into memory of the caller.
template <class T>
MatrixView tile(const AttentionTensor& t, RowIndex at, int64_t rows, int64_t columns, OpMath<T>* packed) {
  char* first = address<T>(t, at);
  if constexpr (kReadsAsIs<T>) {
    return {first, t.row, t.column};
  } else {
    constexpr int W = kLanes<float>;
    for (int64_t i = 0; i < rows; ++i) {
      const char* from = first + i * t.row * static_cast<int64_t>(sizeof(T));
      float* to = packed + i * columns;
      int64_t j = 0;
      if (t.column == 1) {
        for (; j + W <= columns; j += W)
          write(reinterpret_cast<char*>(to + j), load<T>(from + j * static_cast<int64_t>(sizeof(T))));
      }
      for (; j < columns; ++j) to[j] = load_one<T>(from + j * t.column * static_cast<int64_t>(sizeof(T)));
    }
    return {reinterpret_cast<char*>(packed), columns, 1};
  }
}

// Sums, whose rows lie `stride` apart.
template <class A>
struct Sums {
  A* data;
  int64_t stride;
  A* row(int64_t i) const { return data + i * stride; }
};

template <class T>
void put(const AttentionTensor& t, RowIndex at, int64_t rows, int64_t columns, Sums<OpMath<T>> from) {
  using A = OpMath<T>;
  constexpr int W = kLanes<A>;
  for (int64_t i = 0; i < rows; ++i) {
    char* to = address<T>(t, {at.batch, at.head, at.row + i});
    const A* row = from.row(i);
    int64_t j = 0;
    if (t.column == 1) {
      for (; j + W <= columns; j += W)
        store<T>(to + j * static_cast<int64_t>(sizeof(T)),
                 read<Vec<A>>(reinterpret_cast<const char*>(row + j)));
    }
    for (; j < columns; ++j) store_one<T>(to + j * t.column * static_cast<int64_t>(sizeof(T)), row[j]);
  }
}

// Likewise what is the transpose of all a head's rows.
template <class T>
void put_transposed(const AttentionTensor& t, RowIndex head, int64_t rows, int64_t columns,
                    Sums<OpMath<T>> from) {
  using A = OpMath<T>;
  constexpr int64_t W = kLanes<A>, size = sizeof(A);
  Scratch<A> some(W * columns);
  for (int64_t i = 0; i < rows; i += W) {
    const int64_t n = least(W, rows - i);
    int64_t j = 0;
    for (; n == W && j + W <= columns; j += W)
      RegisterTranspose<A>::transpose(reinterpret_cast<char*>(some.data() + j), columns * size,
                                      reinterpret_cast<const char*>(from.row(j) + i), from.stride * size);
    for (; j < columns; ++j)
      for (int64_t r = 0; r < n; ++r) some[r * columns + j] = from.row(j)[i + r];
    put<T>(t, {head.batch, head.head, i}, n, columns, {some.data(), columns});
  }
}

template <class A>
MatrixView dense(A* data, int64_t columns) {
  return {reinterpret_cast<char*>(data), columns, 1};
}
MatrixView transposed(MatrixView m) { return {m.data, m.column_stride, m.row_stride}; }

}  // namespace

}  // namespace tl::cpu::TL_ISA_NAMESPACE

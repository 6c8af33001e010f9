// Tile of attention scores S = Q K': scale, mask, and conversion to operands of the next GEMM.
#pragma once

#include "kernels/cpu/attention/tile_gemm.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {  // a part of attention.cpp

// A tile of scores: `keys` elements of a row are valid, the padding after them holds -infinity.
template <class T>
struct Scores {
  using A = OpMath<T>;
  static constexpr int W = kLanes<A>;
  static constexpr A lowest = -std::numeric_limits<A>::infinity();
  const Attention& call;
  Sums<A> rows;
  int64_t batch, head, query, key, queries, keys;

  A* row(int64_t i) const { return rows.row(i); }
  int64_t pairs() const { return (keys + 2 * W - 1) / (2 * W); }  // of vectors
  // How many keys the row's query may look at.
  int64_t visible(int64_t i) const {
    if (!call.causal) return keys;
    const int64_t n = query + i + 1 - key;
    return n < 0 ? 0 : least(n, keys);
  }
  // Masks are added to what is scaled, and only of factors above 0 the largest score stays the largest.
  bool scaled() const { return call.mask.data || !(scale() > 0); }
  A scale() const { return static_cast<A>(call.scale); }
  A factor() const { return scaled() ? A(1) : scale(); }  // that scores have yet to be multiplied by

  void compute(const TileGemm* tile_gemm, PackedOperand q, PackedOperand transposed_keys) const {
    multiply<T>(tile_gemm, queries, keys, call.shape.size, q, transposed_keys, rows, false);
    for (int64_t i = 0; i < queries; ++i) {
      A* const s = row(i);
      for (int64_t j = 0; scaled() && j < keys; ++j) s[j] *= scale();
      if (call.mask.data) apply_mask(i);
      std::fill(s + visible(i), s + pairs() * 2 * W, lowest);
    }
  }
  void apply_mask(int64_t i) const {
    const AttentionTensor& m = call.mask;
    const int64_t at = batch * m.batch + head * m.head + (query + i) * m.row + key * m.column, n = visible(i);
    A* const s = row(i);
    if (call.mask_is_bool) {
      const char* attends = m.data + at;
      for (int64_t j = 0; j < n; ++j) s[j] = attends[j * m.column] ? s[j] : lowest;
    } else {
      const A* added = reinterpret_cast<const A*>(m.data) + at;
      for (int64_t j = 0; j < n; ++j) s[j] += added[j * m.column];
    }
  }
};

template <class A>
TL_INLINE Vec<A> at(const A* p, int64_t i) {
  return read<Vec<A>>(reinterpret_cast<const char*>(p + i * kLanes<A>));
}
template <class A>
TL_INLINE void set(A* p, int64_t i, Vec<A> v) {
  write(reinterpret_cast<char*>(p + i * kLanes<A>), v);
}

// Makes factors of a tile's row, in place, and of a whole tile's rows the matrix. Inlined, as gcc 12 at -O1
// takes the call for one without effect.
template <class T>
TL_INLINE void to_factors(OpMath<T>* row, int64_t steps) {
  using F = Factor<T>;
  if constexpr (!std::is_same_v<F, OpMath<T>>) {
    constexpr int64_t bytes = kLanes<OpMath<T>> * sizeof(F);
    for (int64_t i = 0; i < steps; ++i) store<F>(reinterpret_cast<char*>(row) + i * bytes, at(row, i));
  }
}
template <class T>
MatrixView factors(Sums<OpMath<T>> rows) {
  return dense(rows.data, rows.stride * static_cast<int64_t>(sizeof(OpMath<T>) / sizeof(Factor<T>)));
}

}  // namespace

}  // namespace tl::cpu::TL_ISA_NAMESPACE

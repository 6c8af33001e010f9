// AMX tile products: tiles of 16 rows of 64 bytes each.
#pragma once

#include <cstring>

#include "kernels/cpu/gemm/pack.h"

#define TL_TILES __attribute__((target("amx-tile,amx-bf16,amx-int8")))

namespace tl::cpu::TL_ISA_NAMESPACE {

// Eight tiles, all of them whole.
struct alignas(64) TileSizes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
inline constexpr TileSizes kTileSizes;  // a constant, as compilers do not see that all of it is read

// The tiles as a thread has them while it multiplies: whoever had them before gets none of ours.
class TileSession {
 public:
  TL_TILES TileSession() { _tile_loadconfig(&kTileSizes); }
  TL_TILES ~TileSession() { _tile_release(); }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
};

// Tiles 0 to 3 are the sums of 16 or 32 rows, for two tiles of columns; 4 and 5 hold the rows' factors, 6 and
// 7 the columns'. The number of a tile is part of its instruction.
TL_TILES inline void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

template <class E, bool two>
TL_TILES inline void add_products() {
  if constexpr (std::is_same_v<E, float>) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if (two) _tile_dpbf16ps(2, 5, 6);
    if (two) _tile_dpbf16ps(3, 5, 7);
  } else {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    if (two) _tile_dpbssd(2, 5, 6);
    if (two) _tile_dpbssd(3, 5, 7);
  }
}

// Rows of sums lie `stride` apart.
template <bool two, class E>
TL_TILES inline void load_sums(const E* sums, int64_t stride) {
  const int64_t row = stride * static_cast<int64_t>(sizeof(E));
  _tile_loadd(0, sums, row);
  _tile_loadd(1, sums + 16, row);
  if (two) _tile_loadd(2, sums + 16 * stride, row);
  if (two) _tile_loadd(3, sums + 16 * stride + 16, row);
}
template <bool two, class E>
TL_TILES inline void store_sums(E* sums, int64_t stride) {
  const int64_t row = stride * static_cast<int64_t>(sizeof(E));
  _tile_stored(0, sums, row);
  _tile_stored(1, sums + 16, row);
  if (two) _tile_stored(2, sums + 16 * stride, row);
  if (two) _tile_stored(3, sums + 16 * stride + 16, row);
}

// A block of rows, 16 by 16 elements together; 32 columns, their rows one after another.
template <class F>
struct InTiles {
  using E = typename F::Element;
  using Storage = typename F::Storage;
  static constexpr bool kLosesTerms = false;
  static constexpr int kSide = 16, kRows = 32, kCols = 32;
  static constexpr int64_t kStep = kSide, kPack = kSide * F::kPack;

  static void pack_columns(E* packed, Operand<Storage> b, int columns, int64_t terms, int64_t depth) {
    pack_columns_as<F, kCols>(packed, b, columns, terms);
    const int64_t used = (terms + F::kPack - 1) / F::kPack;
    std::memset(packed + used * kCols, 0, sizeof(E) * static_cast<size_t>((depth - used) * kCols));
  }

  static void pack_rows(E* packed, Operand<Storage> a, int rows, int64_t terms, int64_t depth) {
    const int64_t slice = a.row == 1 && a.column != 1 ? kSide : depth;  // of terms whose rows are dense
    for (int64_t q = 0; q < depth; q += slice)
      for (int r = 0; r < rows || r % kRows; r += kSide)
        for (int64_t p = q; p < q + slice; p += kSide)
          pack_transposed_tile(packed + r * depth + p * kSide, {a.at(r, p * F::kPack), a.row, a.column},
                               rows - r, terms - p * F::kPack);
  }

  // To the sums of 16 or 32 rows, of which the second half stands `below`.
  template <bool two>
  static TL_TILES void add(const E* a, const E* below, const E* b, int64_t depth) {
    constexpr int kTileElements = kSide * kSide, kRow = 2 * kSide * sizeof(E);
    for (int64_t p = 0; p < depth;
         p += kSide, a += kTileElements, below += kTileElements, b += 2 * kTileElements) {
      _tile_loadd(4, a, 64);
      if (two) _tile_loadd(5, below, 64);
      _tile_loadd(6, b, kRow);
      _tile_loadd(7, b + kSide, kRow);
      add_products<E, two>();
    }
  }

 private:
  using V = Vec<E>;

  static void pack_transposed_tile(E* out, Operand<Storage> a, int rows, int64_t terms) {
    V square[kSide];
    const bool whole = terms >= kSide * F::kPack;
    if (whole && a.column == 1) {
      for (int i = 0; i < kSide; ++i) square[i] = i < rows ? F::along(a.at(i, 0)) : V{};
    } else if (whole && a.row == 1 && rows > 0) {
      for (int e = 0; e < kSide; ++e)
        square[e] = F::across(a.at(0, e * F::kPack), a.column, rows < kSide ? rows : kSide);
      RegisterTranspose<E>::transpose(square);
    } else {
      for (int i = 0; i < kSide; ++i) square[i] = some_elements(a, i < rows ? i : -1, terms);
    }
    for (int i = 0; i < kSide; ++i) write(reinterpret_cast<char*>(out + i * kSide), square[i]);
  }

  static V some_elements(Operand<Storage> a, int row, int64_t terms) {
    V v = {};
    for (int e = 0; row >= 0 && e < kSide && e * F::kPack < terms; ++e)
      v[e] = F::one(a.at(row, e * F::kPack), a.column, static_cast<int>(terms) - e * F::kPack);
    return v;
  }
};

// How many elements some terms are when `S` has packed them.
template <class S>
int64_t packed_terms(int64_t terms) {
  return (terms + S::kPack - 1) / S::kPack * S::kStep;
}

// Sums in memory, whose rows lie `stride` apart, and whether they are added to.
template <class E>
struct TileOutput {
  E* sums;
  int64_t stride;
  bool adds;
};

// Packed rows times 32 packed columns; `depth` is that which the rows were packed with.
template <class S, bool two>
TL_TILES void add_rows(TileOutput<typename S::E> to, const typename S::E* a, int64_t depth,
                       const typename S::E* b, int64_t elements) {
  to.adds ? load_sums<two>(to.sums, to.stride) : clear_sums();
  S::template add<two>(a, a + depth * S::kSide, b, elements);
  store_sums<two>(to.sums, to.stride);
}
template <class S>
void add_tile(int64_t rows, TileOutput<typename S::E> to, const typename S::E* a, int64_t depth,
              const typename S::E* b, int64_t elements) {
  (rows > S::kSide ? &add_rows<S, true> : &add_rows<S, false>)(to, a, depth, b, elements);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// Tiles of an int8 product: a few rows against a few panels of 16 columns, K whole in the registers.
#pragma once

#include "kernels/cpu/gemm/int8.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// The bytes of a row need not be dense: they are `runs` runs of `quads` quads, each with pointers to its
// rows.
struct Int8Tile {
  const uint8_t* const* rows;  // [run][row]
  int64_t runs, quads;
  const int8_t* panels;
  int64_t panel_bytes;
};
inline constexpr int kTileColumns = 4 * kPanelColumns;  // between rows of sums
inline constexpr int kInt8TileRows = TL_ISA_LEVEL >= 4 ? 6 : 4,
                     kInt8TilePanels = kTileColumns / kPanelColumns;
using Int8TileKernel = void (*)(const Int8Tile& tile, int32_t* sums);
Int8TileKernel int8_tile(int rows, int panels, bool seven_bits);

TL_INLINE int32_t quad_at(const uint8_t* p) {
  int32_t quad;
  __builtin_memcpy(&quad, p, sizeof quad);
  return quad;
}

#if TL_ISA_LEVEL >= 4
// GCC 12 spills an array of accumulators of the intrinsic, at half the speed. Names and an instruction as
// text keep them in registers.
TL_INLINE void add_quads(__m512i& sums, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
}

#define TL_EACH_ROW(F) F(0) F(1) F(2) F(3) F(4) F(5)
#define TL_TILE_SUMS(r) \
  [[maybe_unused]] __m512i s##r##0 = zero, s##r##1 = zero, s##r##2 = zero, s##r##3 = zero;
#define TL_TILE_POINTER(r) [[maybe_unused]] const uint8_t* const a##r = rows[r < R ? r : 0];
#define TL_TILE_STEP(r)                                             \
  if constexpr (R > r) {                                            \
    const __m512i a = _mm512_set1_epi32(quad_at(a##r + q * kQuad)); \
    add_quads(s##r##0, a, b0);                                      \
    if constexpr (P > 1) add_quads(s##r##1, a, b1);                 \
    if constexpr (P > 2) add_quads(s##r##2, a, b2);                 \
    if constexpr (P > 3) add_quads(s##r##3, a, b3);                 \
  }
#define TL_TILE_STORE(r)                                                            \
  if constexpr (R > r) {                                                            \
    _mm512_store_si512(sums + r * kTileColumns, s##r##0);                           \
    if constexpr (P > 1) _mm512_store_si512(sums + r * kTileColumns + 16, s##r##1); \
    if constexpr (P > 2) _mm512_store_si512(sums + r * kTileColumns + 32, s##r##2); \
    if constexpr (P > 3) _mm512_store_si512(sums + r * kTileColumns + 48, s##r##3); \
  }

// By VNNI, which adds four products of bytes at once.
template <int R, int P>
void vnni_tile(const Int8Tile& t, int32_t* sums) {
  constexpr int64_t kLine = kPanelColumns * kQuad;
  const __m512i zero = _mm512_setzero_si512();
  TL_EACH_ROW(TL_TILE_SUMS)
  const int8_t* b = t.panels;
  const int64_t step = t.panel_bytes;
  const uint8_t* const* rows = t.rows;
  for (int64_t run = 0; run < t.runs; ++run, rows += R) {
    TL_EACH_ROW(TL_TILE_POINTER)
    for (int64_t q = 0; q < t.quads; ++q, b += kLine) {
      const __m512i b0 = _mm512_loadu_si512(b);
      [[maybe_unused]] const __m512i b1 = _mm512_loadu_si512(b + (P > 1 ? step : 0));
      [[maybe_unused]] const __m512i b2 = _mm512_loadu_si512(b + (P > 2 ? 2 * step : 0));
      [[maybe_unused]] const __m512i b3 = _mm512_loadu_si512(b + (P > 3 ? 3 * step : 0));
      TL_EACH_ROW(TL_TILE_STEP)
    }
  }
  TL_EACH_ROW(TL_TILE_STORE)
}
#undef TL_EACH_ROW
#undef TL_TILE_SUMS
#undef TL_TILE_POINTER
#undef TL_TILE_STEP
#undef TL_TILE_STORE
#endif

#if TL_ISA_LEVEL == 3
// vpmaddubsw adds two products in 16 bits and saturates, which needs a factor above 128: the top bit of an
// eight-bit factor is therefore multiplied apart.
template <bool seven_bits>
TL_INLINE void add_quads(__m256i& sums, __m256i a, __m256i b) {
  const __m256i ones = _mm256_set1_epi16(1);
  if constexpr (seven_bits) {
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
  } else {
    const __m256i low = _mm256_and_si256(a, _mm256_set1_epi8(0x7f));
    const __m256i top = _mm256_and_si256(_mm256_srli_epi16(a, 7), _mm256_set1_epi8(1));
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(low, b), ones));
    const __m256i by_top = _mm256_slli_epi16(_mm256_maddubs_epi16(top, b), 7);  // from -2^15 to 2^15 - 2^8
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(by_top, ones));
  }
}

// R rows against one panel, two vectors wide.
template <int R, bool seven_bits>
void maddubs_panel(const Int8Tile& t, const int8_t* b, int32_t* out) {
  __m256i sums[R][2] = {};
  const uint8_t* const* rows = t.rows;
  for (int64_t run = 0; run < t.runs; ++run, rows += R) {
    for (int64_t q = 0; q < t.quads; ++q, b += 64) {
      const __m256i b0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
      const __m256i b1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32));
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        const __m256i a = _mm256_set1_epi32(quad_at(rows[i] + q * kQuad));
        add_quads<seven_bits>(sums[i][0], a, b0);
        add_quads<seven_bits>(sums[i][1], a, b1);
      }
    }
  }
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < 2; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * kTileColumns + v * 8), sums[i][v]);
}
#endif

// Without instructions of its own: a vector's four bytes are multiplied one after another.
template <int R>
void portable_panel(const Int8Tile& t, const int8_t* b, int32_t* out) {
  constexpr int kVectors = kPanelColumns / kLanes<int32_t>;
  VecI sums[R][kVectors] = {};
  const uint8_t* const* rows = t.rows;
  for (int64_t run = 0; run < t.runs; ++run, rows += R) {
    for (int64_t q = 0; q < t.quads; ++q) {
      for (int v = 0; v < kVectors; ++v, b += kVecBytes) {
        const VecI quads = read<VecI>(reinterpret_cast<const char*>(b));
        for (int e = 0; e < kQuad; ++e) {
          const VecI factors = (quads << (24 - 8 * e)) >> 24;
          for (int i = 0; i < R; ++i) sums[i][v] += factors * int32_t{rows[i][q * kQuad + e]};
        }
      }
    }
  }
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < kVectors; ++v)
      write(reinterpret_cast<char*>(out + i * kTileColumns + v * kLanes<int32_t>), sums[i][v]);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

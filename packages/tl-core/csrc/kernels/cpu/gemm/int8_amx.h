// Tiles of an int8 product on AMX: 32 rows against up to four panels, K whole in the tiles.
#pragma once

#include <cstring>

#include "base/cpu_capability.h"
#include "kernels/cpu/gemm/int8_tile.h"
#include "kernels/cpu/loops/workspace.h"

#if TL_ISA_LEVEL >= 4
#include "kernels/cpu/gemm/amx_tiles.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kAmxRows = 32, kAmxBytes = 64, kAmxQuads = kAmxBytes / kQuad;

// Bytes of a row that tiles read.
inline int64_t amx_row_bytes(int64_t quads) { return (quads + kAmxQuads - 1) / kAmxQuads * kAmxBytes; }

// All 32 rows, or 16 where `rows` is not more, are readable to amx_row_bytes. What stands behind `quads` has
// no effect.
struct AmxBlock {
  const uint8_t* a;
  int64_t row, quads;
  int rows, count;  // of rows and of panels
  const int8_t* panels;
  int64_t panel_bytes;
};

// A step: 64 bytes of each row, 16 quads of each panel.
template <bool two_rows, bool two_panels>
TL_TILES inline void amx_step(const uint8_t* a, int64_t row, const int8_t* b, const int8_t* next) {
  _tile_loadd(4, a, row);
  if (two_rows) _tile_loadd(5, a + 16 * row, row);
  _tile_loadd(6, b, kAmxBytes);
  _tile_dpbusd(0, 4, 6);
  if (two_rows) _tile_dpbusd(2, 5, 6);
  if (two_panels) _tile_loadd(7, next, kAmxBytes);
  if (two_panels) _tile_dpbusd(1, 4, 7);
  if (two_rows && two_panels) _tile_dpbusd(3, 5, 7);
}

template <bool two_rows, bool two_panels>
TL_TILES void amx_panels(const AmxBlock& t, const int8_t* b, int32_t* sums) {
  constexpr int64_t kStep = kAmxQuads * kPanelColumns * kQuad, kRow = kTileColumns * sizeof(int32_t);
  const int64_t steps = t.quads / kAmxQuads, rest = t.quads % kAmxQuads * kPanelColumns * kQuad;
  const int8_t* next = b + (two_panels ? t.panel_bytes : 0);
  clear_sums();
  for (int64_t s = 0; s < steps; ++s)
    amx_step<two_rows, two_panels>(t.a + s * kAmxBytes, t.row, b + s * kStep, next + s * kStep);
  if (rest) {
    alignas(64) int8_t last[2][kStep];
    for (int p = 0; p < 1 + two_panels; ++p) {
      std::memcpy(last[p], (p ? next : b) + steps * kStep, static_cast<size_t>(rest));
      std::memset(last[p] + rest, 0, static_cast<size_t>(kStep - rest));
    }
    amx_step<two_rows, two_panels>(t.a + steps * kAmxBytes, t.row, last[0], last[1]);
  }
  _tile_stored(0, sums, kRow);
  if (two_panels) _tile_stored(1, sums + 16, kRow);
  if (two_rows) _tile_stored(2, sums + 16 * kTileColumns, kRow);
  if (two_rows && two_panels) _tile_stored(3, sums + 16 * kTileColumns + 16, kRow);
}

// Only while a TileSession lasts.
TL_TILES inline void amx_multiply(const AmxBlock& t, int32_t* sums) {
  const int8_t* b = t.panels;
  for (int p = 0; p < t.count; p += 2, b += 2 * t.panel_bytes, sums += 2 * kPanelColumns) {
    if (t.count - p > 1)
      t.rows > 16 ? amx_panels<true, true>(t, b, sums) : amx_panels<false, true>(t, b, sums);
    else
      t.rows > 16 ? amx_panels<true, false>(t, b, sums) : amx_panels<false, false>(t, b, sums);
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE
#endif

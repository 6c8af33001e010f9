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
  const int8_t *panels, *ends;
  int64_t panel_bytes;
};

// The last step of each panel, with zeros behind its quads: null where quads are whole steps.
class PanelEnds {
 public:
  static constexpr int64_t kStep = kAmxQuads * kPanelColumns * kQuad;

  PanelEnds(const int8_t* packed, int64_t quads, int64_t panels)
      : rest_(quads % kAmxQuads * kPanelColumns * kQuad), ends_(rest_ ? panels * kStep : 0) {
    const int64_t panel = quads * kPanelColumns * kQuad;
    for (int64_t p = 0; rest_ && p < panels; ++p) {
      std::memcpy(ends_.data() + p * kStep, packed + (p + 1) * panel - rest_, static_cast<size_t>(rest_));
      std::memset(ends_.data() + p * kStep + rest_, 0, static_cast<size_t>(kStep - rest_));
    }
  }
  const int8_t* of(int64_t panel) const { return rest_ ? ends_.data() + panel * kStep : nullptr; }

 private:
  int64_t rest_;
  Workspace<int8_t> ends_;
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
TL_TILES void amx_panels(const AmxBlock& t, const int8_t* b, const int8_t* end, int32_t* sums) {
  constexpr int64_t kStep = PanelEnds::kStep, kRow = kTileColumns * sizeof(int32_t);
  const int64_t steps = t.quads / kAmxQuads;
  const int8_t* next = b + (two_panels ? t.panel_bytes : 0);
  clear_sums();
  for (int64_t s = 0; s < steps; ++s) {
    // The tiles' own loads don't wake the prefetcher of the first-level cache.
    prefetch(b + (s + 2) * kStep, kStep);
    if (two_panels) prefetch(next + (s + 2) * kStep, kStep);
    amx_step<two_rows, two_panels>(t.a + s * kAmxBytes, t.row, b + s * kStep, next + s * kStep);
  }
  if (end)
    amx_step<two_rows, two_panels>(t.a + steps * kAmxBytes, t.row, end, end + (two_panels ? kStep : 0));
  _tile_stored(0, sums, kRow);
  if (two_panels) _tile_stored(1, sums + 16, kRow);
  if (two_rows) _tile_stored(2, sums + 16 * kTileColumns, kRow);
  if (two_rows && two_panels) _tile_stored(3, sums + 16 * kTileColumns + 16, kRow);
}

// Only while a TileSession lasts.
TL_TILES inline void amx_multiply(const AmxBlock& t, int32_t* sums) {
  const int8_t *b = t.panels, *end = t.ends;
  for (int p = 0; p < t.count; p += 2, b += 2 * t.panel_bytes, sums += 2 * kPanelColumns) {
    if (t.count - p > 1)
      t.rows > 16 ? amx_panels<true, true>(t, b, end, sums) : amx_panels<false, true>(t, b, end, sums);
    else
      t.rows > 16 ? amx_panels<true, false>(t, b, end, sums) : amx_panels<false, false>(t, b, end, sums);
    if (end) end += 2 * PanelEnds::kStep;
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE
#endif

// isa: all, by hand
// Int8 products over packed columns: blocks of rows that stay in the second-level cache, tiles of a few rows
// against four panels, and the epilogue.
#include <algorithm>
#include <utility>

#include "base/cpu_capability.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/int8_amx.h"
#include "kernels/cpu/gemm/int8_epilogue.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// ---- tiles ------------------------------------------------------------------------------------------------

#if TL_ISA_LEVEL >= 4
template <int R, bool, int P>
void tile(const Int8Tile& t, int32_t* sums) {
  vnni_tile<R, P>(t, sums);
}
#else
template <int R, bool seven_bits, int P>
void tile(const Int8Tile& t, int32_t* sums) {
  const int8_t* b = t.panels;
  for (int p = 0; p < P; ++p, b += t.panel_bytes, sums += kPanelColumns) {
#if TL_ISA_LEVEL == 3
    maddubs_panel<R, seven_bits>(t, b, sums);
#else
    portable_panel<R>(t, b, sums);
#endif
  }
}
#endif

template <int R, bool seven_bits>
constexpr Int8TileKernel kPanelTiles[kInt8TilePanels] = {&tile<R, seven_bits, 1>, &tile<R, seven_bits, 2>,
                                                         &tile<R, seven_bits, 3>, &tile<R, seven_bits, 4>};

template <bool seven_bits, size_t... R>
Int8TileKernel tile_of(int rows, int panels, std::index_sequence<R...>) {
  static constexpr const Int8TileKernel* kTiles[] = {kPanelTiles<static_cast<int>(R) + 1, seven_bits>...};
  return kTiles[rows - 1][panels - 1];
}
}  // namespace

Int8TileKernel int8_tile(int rows, int panels, bool seven_bits) {
  constexpr auto all = std::make_index_sequence<kInt8TileRows>{};
  if constexpr (TL_ISA_LEVEL == 3)
    if (seven_bits) return tile_of<true>(rows, panels, all);
  return tile_of<false>(rows, panels, all);
}

namespace {

// ---- the product ------------------------------------------------------------------------------------------

void fill_row_sums(const Int8Product& p, int32_t* sums) {
  for (int64_t i = 0; i < p.m; ++i) {
    uint32_t s = 0;
    for (int64_t q = 0; q < p.k; ++q) s += p.a[i * p.a_row + q];
    sums[i] = static_cast<int32_t>(s);
  }
}

struct Blocks {
  const Int8Product& p;
  const Int8Writer& writer;
  int64_t rows;  // of a block
  bool on_tiles;
#if TL_ISA_LEVEL >= 4
  const PanelEnds* ends = nullptr;
#endif

  int64_t panel_bytes() const { return packed_int8_bytes(p.k, 1); }

  // Some rows against up to four panels from `panel` on.
  void run(int64_t begin, int64_t end, int64_t panel) const {
    const int panels = static_cast<int>(std::min<int64_t>(int8_panels(p.n) - panel, kInt8TilePanels));
    const int64_t column = panel * kPanelColumns;
    const int columns = static_cast<int>(std::min<int64_t>(p.n - column, kTileColumns));
    alignas(64) int32_t sums[kInt8TileRows * kTileColumns];
    for (int64_t i = begin; i < end; i += kInt8TileRows) {
      const int count = static_cast<int>(std::min<int64_t>(end - i, kInt8TileRows));
      const uint8_t* pointers[kInt8TileRows];
      for (int r = 0; r < count; ++r) pointers[r] = p.a + (i + r) * p.a_row;
      const Int8Tile tile{pointers, 1, int8_quads(p.k), p.b + panel * panel_bytes(), panel_bytes()};
      int8_tile(count, panels, p.seven_bits)(tile, sums);
      writer(sums, i, column, count, columns);
    }
  }

#if TL_ISA_LEVEL >= 4
  // Likewise on AMX. Rows that tiles can't read where they lie are copied.
  TL_TILES void run_on_tiles(int64_t begin, int64_t end, int64_t panel) const {
    const TileSession session;
    const int panels = static_cast<int>(std::min<int64_t>(int8_panels(p.n) - panel, kInt8TilePanels));
    const int64_t column = panel * kPanelColumns, quads = int8_quads(p.k), room = amx_row_bytes(quads);
    const int columns = static_cast<int>(std::min<int64_t>(p.n - column, kTileColumns));
    const bool whole = p.a_row >= room;
    const Workspace<uint8_t> copy(kAmxRows * room);
    alignas(64) int32_t sums[kAmxRows * kTileColumns];
    for (int64_t i = begin; i < end; i += kAmxRows) {
      const int count = static_cast<int>(std::min<int64_t>(end - i, kAmxRows));
      AmxBlock block{p.a + i * p.a_row,           p.a_row,         quads,        count, panels,
                     p.b + panel * panel_bytes(), ends->of(panel), panel_bytes()};
      if (!whole || i + (count > 16 ? 32 : 16) > std::max(p.m, p.readable)) {
        for (int r = 0; r < count; ++r)
          std::memcpy(copy.data() + r * room, block.a + r * p.a_row, static_cast<size_t>(quads * kQuad));
        block.a = copy.data();
        block.row = room;
      }
      amx_multiply(block, sums);
      writer(sums, i, column, count, columns);
    }
  }
#endif

  void run_task(int64_t begin, int64_t end, int64_t panel) const {
#if TL_ISA_LEVEL >= 4
    if (on_tiles) return run_on_tiles(begin, end, panel);
#endif
    run(begin, end, panel);
  }

  void run() const {
    const int64_t groups = (int8_panels(p.n) + kInt8TilePanels - 1) / kInt8TilePanels;
    const int64_t blocks = (p.m + rows - 1) / rows;
    const int64_t work = std::min(rows, p.m) * p.k * kTileColumns;
    parallel_for(0, groups * blocks, (1 << 20) / (work + 64) + 1, [&](int64_t first, int64_t last) {
      for (int64_t task = first; task < last; ++task) {
        const int64_t row = task / groups * rows;
        run_task(row, std::min(p.m, row + rows), task % groups * kInt8TilePanels);
      }
    });
  }
};

void product(const Int8Product& p, const Int8Epilogue& to) {
  Workspace<int32_t> shift(int8_panels(p.n) * kPanelColumns), row_sums(p.b_zero ? p.m : 0);
  fill_shift({p.a_zero, p.k, p.column_sums, p.b_zero}, int8_panels(p.n) * kPanelColumns, shift.data());
  if (p.b_zero) fill_row_sums(p, row_sums.data());
  const Int8Writer writer(to, shift.data(), p.b_zero, row_sums.data());
  const bool on_tiles = TL_ISA_LEVEL >= 4 && p.m >= 16 && cpu_has_tiles();
  const int64_t unit = on_tiles ? 32 : kInt8TileRows,
                fit = cpu_cache_bytes() / 2 / (p.a_row + 1) / unit * unit;
  Blocks blocks{p, writer, std::clamp<int64_t>(fit, 4 * unit, 64 * unit), on_tiles};
#if TL_ISA_LEVEL >= 4
  const PanelEnds ends(p.b, on_tiles ? int8_quads(p.k) : 0, int8_panels(p.n));
  blocks.ends = &ends;
#endif
  blocks.run();
}

}  // namespace

extern void (*const int8_product)(const Int8Product&, const Int8Epilogue&) = &product;

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern void (*const int8_product)(const Int8Product&, const Int8Epilogue&))

namespace tl::cpu {

namespace {

// More terms could overflow a sum of int32: 255 * 255 * kMostTerms < 2^31.
constexpr int64_t kMostTerms = 33000;

// Sums of many terms, in int64. Layers are not as wide, so speed does not matter.
int64_t wide_sum(const Int8Product& p, int64_t i, int64_t j) {
  const int8_t* b = p.b + j / kPanelColumns * packed_int8_bytes(p.k, 1) + j % kPanelColumns * kQuad;
  const int64_t b_zero = p.b_zero ? p.b_zero[j] : 0;
  int64_t sum = 0;
  for (int64_t q = 0; q < p.k; ++q) {
    const int64_t factor = b[q / kQuad * kPanelColumns * kQuad + q % kQuad];
    sum += (p.a[i * p.a_row + q] - int64_t{p.a_zero}) * (factor - b_zero);
  }
  return sum;
}

void write_wide(const Int8Epilogue& to, int64_t i, int64_t j, float sum) {
  char* row = to.out + i * to.row;
  if (to.kind == Int8Output::Float) {
    const float y = std::fma(sum, to.scale[j], to.added[j]);
    reinterpret_cast<float*>(row)[j] = to.relu && y < 0.0f ? 0.0f : y;
  } else {
    const auto low = static_cast<float>(to.low - to.zero_point),
               high = static_cast<float>(to.high - to.zero_point);
    const float y = (sum + to.added[j]) * to.scale[j], below = y < high ? y : high;
    row[j] = static_cast<char>(static_cast<int>(std::nearbyint(below > low ? below : low)) + to.zero_point);
  }
}

void wide_product(const Int8Product& p, const Int8Epilogue& to) {
  parallel_for(0, p.m * p.n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e)
      write_wide(to, e / p.n, e % p.n, static_cast<float>(wide_sum(p, e / p.n, e % p.n)));
  });
}

}  // namespace

void gemm_packed_int8(const Int8Product& p, const Int8Epilogue& to) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k > kMostTerms && to.kind != Int8Output::Int32) return wide_product(p, to);
#if defined(TL_ISA_X86)
  // Processors with AVX-512 but without VNNI take the kernels of AVX2.
  if (isa_level() == 2 && !cpu_has_vnni()) return v3::int8_product(p, to);
#endif
  TL_SELECT(int8_product)(p, to);
}

}  // namespace tl::cpu
#endif

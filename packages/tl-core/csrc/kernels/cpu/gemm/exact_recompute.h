// Exact recompute of suspect sums that split-bfloat16 tiles got wrong.
#pragma once

#include <algorithm>

#include "kernels/cpu/gemm/amx_tiles.h"
#include "kernels/cpu/gemm/tile_accumulators.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// Where a tile stands in a product, and which terms it is of.
struct TileIndex {
  int64_t i, j, p, terms;
};

// `S` says how terms are packed.
template <class S>
class ExactRecompute {
 public:
  ExactRecompute(Operand<float> a, Operand<float> b, int64_t columns) : a_(a), b_(b), n_(columns) {}

  // A sum may be of terms that have no exact parts, or whose products are too small. What becomes of one
  // depends on its row and its column, not on others.
  void operator()(const TileSums& sums, TileIndex at, const float* packed_rows) const {
    if (!sums.any_suspect()) [[likely]]
      return;
    RowMask rows = 0, columns = 0;
    if (sums.any_zero())
      rows = subnormal_rows<S>(packed_rows, packed_terms<S>(at.terms)), columns = subnormal_columns_at(at);
    for (int i = 0; i < sums.rows(); ++i) {
      const RowMask zeros = sums.zeros(i), subnormal = rows >> i & 1 ? ~RowMask{} : columns;
      if (const RowMask wrong = (sums.suspect(i) & ~zeros) | (zeros & subnormal))
        sums.replace(i, wrong, exact_row(at, i).sums);
    }
  }

 private:
  RowMask subnormal_columns_at(TileIndex at) const {
    const int columns = static_cast<int>(std::min<int64_t>(n_ - at.j, S::kCols));
    const int64_t depth = packed_terms<S>(at.terms);
    Workspace<float> panel(depth * S::kCols);
    S::pack_columns(panel.data(), {b_.at(at.p, at.j), b_.row, b_.column}, columns, at.terms, depth);
    return subnormal_columns<S>(panel.data(), depth);
  }

  struct Row {
    alignas(64) float sums[S::kCols];
  };
  Row exact_row(TileIndex at, int64_t i) const {
    constexpr int W = kLanes<float>;
    const int64_t step = b_.column * static_cast<int64_t>(sizeof(float)), columns = n_ - at.j;
    Row row;
    for (int j = 0; j < S::kCols; j += W) {
      VecF sum{};
      const int lanes = static_cast<int>(std::clamp<int64_t>(columns - j, 0, W));
      for (int64_t p = at.p; p < at.p + at.terms; ++p)
        sum = fma(broadcast<VecF>(*a_.at(at.i + i, p)),
                  load_strided<float>(reinterpret_cast<const char*>(b_.at(p, at.j + j)), step, lanes), sum);
      write(reinterpret_cast<char*>(row.sums + j), sum);
    }
    return row;
  }

  Operand<float> a_, b_;
  int64_t n_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

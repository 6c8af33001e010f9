// Products of float matrices in parts, by instructions for tiles; what these get wrong is summed once more.
#pragma once

#include "kernels/cpu/matmul_parts.h"
#include "kernels/cpu/matmul_tile_sums.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// Products of floats whose sums have one order over k, whatever the number of rows.
template <int parts>
class PartsProduct {
 public:
  PartsProduct(Operand<float> a, Operand<float> b, int64_t m, int64_t n, int64_t k)
      : a_(a), b_(b), m_(m), n_(n), k_(k) {}

  void run(const Output<float>& first) const {
    for (int64_t p = 0; p < k_; p += kDepth)
      multiply(p, std::min(k_ - p, kDepth), p == 0 ? first : continued(first));
  }

 private:
  using S = InParts<parts>;
  static constexpr int64_t kDepth = 512;  // terms of a block
  // Of which a panel's stay nearest while all rows of a block pass by.
  static constexpr int64_t kNear = 192 / parts / S::kTerms * S::kTerms;

  struct Place {
    int64_t i, j, p, terms;
  };

  static int64_t whole(int64_t n, int64_t step) { return (n + step - 1) / step; }
  static int64_t elements(int64_t terms) { return whole(terms, S::kTerms) * S::kRound; }

  // How many tiles of rows fill half of the second-level cache.
  static int64_t most_tiles(int64_t depth) {
    constexpr int64_t size = sizeof(float) * S::kRows;
    return std::clamp<int64_t>(cpu_cache_bytes() / 2 / (depth * size), 1, 16);
  }

  void multiply(int64_t p, int64_t terms, const Output<float>& o) const {
    const int64_t depth = elements(terms), tiles = whole(m_, S::kRows), panels = whole(n_, S::kCols);
    const auto [blocks, shares] = divide<S>(tiles, panels, terms, most_tiles(depth));
    const int64_t height = whole(tiles, blocks) * S::kRows,
                  work = height * terms * (panels / shares * S::kCols);
    parallel_for(0, blocks * shares, kProductGrain / 4 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      const TileSession session;
      Workspace<float> rows(height * depth), sums(height * S::kCols);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t block = task % blocks, share = task / blocks,
                      i = part_begin(block, blocks, tiles) * S::kRows,
                      last = std::min(m_, part_begin(block + 1, blocks, tiles) * S::kRows);
        S::pack_rows(rows.data(), {a_.at(i, p), a_.row, a_.column}, static_cast<int>(last - i), terms, depth);
        for (int64_t j = part_begin(share, shares, panels); j < part_begin(share + 1, shares, panels); ++j)
          panel(rows.data(), sums.data(), {i, j * S::kCols, p, terms}, static_cast<int>(last - i), o);
      }
    });
  }

  // A block of packed rows times a panel of columns.
  void panel(const float* block, float* sums, Place at, int rows, const Output<float>& o) const {
    const int columns = static_cast<int>(std::min<int64_t>(n_ - at.j, S::kCols));
    const int64_t depth = elements(at.terms);
    alignas(64) float near[kNear / S::kTerms * S::kRound * S::kCols];
    for (int64_t q = 0; q < at.terms; q += kNear) {
      const int64_t terms = std::min(at.terms - q, kNear);
      const bool last = q + terms == at.terms;
      S::pack_columns(near, {b_.at(at.p + q, at.j), b_.row, b_.column}, columns, terms, 0);
      for (int i = 0; i < rows; i += S::kRows) {
        const int r = std::min(rows - i, S::kRows);
        const float* a = block + i * depth;
        float* tile = sums + i * S::kCols;
        if (last) prefetch(o, at.i + i, at.j, r, columns);
        prefetch_columns(at.j + S::kCols, at.p + q + terms * i / rows, at.p + q + terms * (i + r) / rows);
        (r > S::kSide ? &add<true> : &add<false>)(tile, q > 0, a + elements(q) * S::kSide, depth, near,
                                                  elements(terms));
        if (!last) continue;
        mend({tile, r, columns}, {at.i + i, at.j, at.p, at.terms}, a);
        finish(tile, o, at.i + i, at.j, r, columns);
      }
    }
  }

  // Where rows are dense, those of a panel lie apart: brings some of the next one near.
  void prefetch_columns(int64_t j, int64_t begin, int64_t end) const {
    if (b_.column != 1 || j >= n_) return;
    for (int64_t p = begin; p < end; ++p)
      __builtin_prefetch(b_.at(p, j), 0, 2), __builtin_prefetch(b_.at(p, j + S::kSide), 0, 2);
  }

  template <bool two>
  static TL_TILES void add(float* sums, bool adds, const float* a, int64_t stride, const float* b,
                           int64_t depth) {
    adds ? load_sums<two>(sums, S::kCols) : clear_sums();
    S::template add<two>(a, a + stride * S::kSide, b, depth);
    store_sums<two>(sums, S::kCols);
  }

  // ---- what tiles get wrong

  // A sum may be of terms that have no exact parts, or whose products are too small. What becomes of one
  // depends on its row and its column, not on others.
  void mend(const TileSums& sums, Place at, const float* packed_rows) const {
    if (!sums.any_doubtful()) [[likely]]
      return;
    Lines rows = 0, columns = 0;
    if (sums.any_zero()) rows = tiny_rows<S>(packed_rows, elements(at.terms)), columns = tiny_columns_at(at);
    for (int i = 0; i < sums.rows(); ++i) {
      const Lines zeros = sums.zeros(i), tiny = rows >> i & 1 ? ~Lines{} : columns;
      if (const Lines wrong = (sums.doubtful(i) & ~zeros) | (zeros & tiny))
        sums.replace(i, wrong, exact_row(at, i).sums);
    }
  }

  Lines tiny_columns_at(Place at) const {
    const int columns = static_cast<int>(std::min<int64_t>(n_ - at.j, S::kCols));
    const int64_t depth = elements(at.terms);
    Workspace<float> panel(depth * S::kCols);
    S::pack_columns(panel.data(), {b_.at(at.p, at.j), b_.row, b_.column}, columns, at.terms, depth);
    return tiny_columns<S>(panel.data(), depth);
  }

  struct Row {
    alignas(64) float sums[S::kCols];
  };
  Row exact_row(Place at, int64_t i) const {
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
  int64_t m_, n_, k_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

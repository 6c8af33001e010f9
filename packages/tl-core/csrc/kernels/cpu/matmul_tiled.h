// Products of matrices by instructions for tiles.
#pragma once

#include "kernels/cpu/matmul_blocked.h"
#include "kernels/cpu/matmul_mend.h"
#include "kernels/cpu/matmul_tiles.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// `S` says how terms are packed and multiplied. A block of rows is packed and stays in the second-level
// cache. Columns are packed before if several blocks read them, else a few terms at a time, which stay in the
// first one while all rows of the block pass by.
template <class S>
class TiledProduct {
 public:
  using E = typename S::E;
  using T = typename S::Storage;

  TiledProduct(Operand<T> a, Operand<T> b, int64_t m, int64_t n, int64_t k)
      : a_(a), b_(b), m_(m), n_(n), k_(k) {}

  // Blocks of depth after the first add to the result.
  void run(const Output<E>& first) const {
    for (int64_t p = 0; p == 0 || p < k_; p += kDepth) {
      const Output<E> o = p == 0 ? first : continued(first);
      run_some(p, std::min(k_ - p, kDepth), [&](const E* sums, int64_t i, int64_t j, int rows, int columns) {
        finish(sums, o, i, j, rows, columns);
      });
    }
  }

  // Tiles of whole sums, 32 columns apart, go to `done(sums, i, j, rows, columns)`.
  template <class Done>
  void run_whole(Done done) const {
    run_some(0, k_, done);
  }

 private:
  static constexpr int64_t terms_of(int64_t elements) { return elements / S::kRound * S::kTerms; }
  static constexpr int64_t kDepth = terms_of(512), kNear = terms_of(128);  // of a block, and of the few
  static constexpr int64_t kBlockColumns = 2048;

  static int64_t whole(int64_t n, int64_t step) { return (n + step - 1) / step; }
  static int64_t elements(int64_t terms) { return whole(terms, S::kTerms) * S::kRound; }

  // How many tiles of rows fill half of the second-level cache.
  static int64_t most_tiles(int64_t depth) {
    constexpr int64_t size = sizeof(E) * S::kRows;
    return std::clamp<int64_t>(cpu_cache_bytes() / 2 / (depth * size + 1), 1, 16);
  }

  template <class Done>
  void run_some(int64_t p, int64_t terms, Done done) const {
    for (int64_t j = 0; j < n_; j += kBlockColumns)
      multiply({0, j, p, terms}, std::min(n_ - j, kBlockColumns), done);
  }

  template <class Done>
  void multiply(TilePlace at, int64_t columns, Done done) const {
    const int64_t depth = elements(at.terms), tiles = whole(m_, S::kRows), panels = whole(columns, S::kCols);
    const auto [blocks, shares] = divide<S>(tiles, panels, at.terms, most_tiles(depth));
    const int64_t height = whole(tiles, blocks) * S::kRows,
                  work = height * at.terms * (panels / shares * S::kCols);
    const Workspace<E> packed(blocks > 1 ? panels * S::kCols * depth : 0);
    if (blocks > 1) pack_columns(packed.data(), at, panels);
    parallel_for(0, blocks * shares, kProductGrain / 4 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      const TileSession session;
      const Workspace<E> rows(height * depth), sums(height * S::kCols);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t block = task % blocks, share = task / blocks,
                      i = part_begin(block, blocks, tiles) * S::kRows,
                      last = std::min(m_, part_begin(block + 1, blocks, tiles) * S::kRows);
        S::pack_rows(rows.data(), {a_.at(i, at.p), a_.row, a_.column}, static_cast<int>(last - i), at.terms,
                     depth);
        for (int64_t j = part_begin(share, shares, panels); j < part_begin(share + 1, shares, panels); ++j)
          panel({rows.data(), blocks > 1 ? packed.data() + j * S::kCols * depth : nullptr, sums.data()},
                {i, at.j + j * S::kCols, at.p, at.terms}, static_cast<int>(last - i), done);
      }
    });
  }

  Operand<T> columns_at(int64_t p, int64_t j) const { return {b_.at(p, j), b_.row, b_.column}; }
  int columns_from(int64_t j) const { return static_cast<int>(std::min<int64_t>(n_ - j, S::kCols)); }

  void pack_columns(E* packed, TilePlace at, int64_t panels) const {
    const int64_t depth = elements(at.terms), room = depth * S::kCols;
    parallel_for(0, panels, (1 << 14) / (room + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        S::pack_columns(packed + i * room, columns_at(at.p, at.j + i * S::kCols),
                        columns_from(at.j + i * S::kCols), at.terms, depth);
    });
  }

  struct Memory {
    const E *rows, *columns;  // packed; columns may be missing
    E* sums;
  };

  // A block of rows times a panel of columns.
  template <class Done>
  void panel(const Memory& memory, TilePlace at, int rows, Done done) const {
    const int columns = columns_from(at.j);
    const int64_t depth = elements(at.terms);
    alignas(64) E near[kNear / S::kTerms * S::kRound * S::kCols];
    for (int64_t q = 0; q == 0 || q < at.terms; q += kNear) {
      const int64_t terms = std::min(at.terms - q, kNear), round = elements(terms);
      const bool last = q + terms == at.terms;
      const E* b = memory.columns ? memory.columns + elements(q) * S::kCols : near;
      if (!memory.columns) S::pack_columns(near, columns_at(at.p + q, at.j), columns, terms, round);
      for (int i = 0; i < rows; i += S::kRows) {
        const int r = std::min(rows - i, S::kRows);
        const E* a = memory.rows + i * depth;
        E* tile = memory.sums + i * S::kCols;
        (r > S::kSide ? &add<true> : &add<false>)(tile, q > 0, a + elements(q) * S::kSide, depth, b, round);
        if (!last) continue;
        if constexpr (S::kLosesTerms)
          Mend<S>(a_, b_, n_)({tile, r, columns}, {at.i + i, at.j, at.p, at.terms}, a);
        done(tile, at.i + i, at.j, r, columns);
      }
    }
  }

  template <bool two>
  static TL_TILES void add(E* sums, bool adds, const E* a, int64_t stride, const E* b, int64_t depth) {
    adds ? load_sums<two>(sums, S::kCols) : clear_sums();
    S::template add<two>(a, a + stride * S::kSide, b, depth);
    store_sums<two>(sums, S::kCols);
  }

  Operand<T> a_, b_;
  int64_t m_, n_, k_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// GEMM by AMX tiles.
#pragma once

#include "kernels/cpu/gemm/amx_tiles.h"
#include "kernels/cpu/gemm/blocked.h"
#include "kernels/cpu/gemm/exact_recompute.h"

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
  void run(const Epilogue<E>& first) const {
    for (int64_t p = 0; p == 0 || p < k_; p += kDepth) {
      const Epilogue<E> o = p == 0 ? first : continued(first);
      run_some(p, std::min(k_ - p, kDepth), [&](const E* sums, int64_t i, int64_t j, int rows, int columns) {
        write_epilogue<S::kCols>(sums, o, i, j, rows, columns);
      });
    }
  }

  // Tiles of whole sums, 32 columns apart, go to `done(sums, i, j, rows, columns)`.
  template <class Done>
  void run_whole(Done done) const {
    run_some(0, k_, done);
  }

 private:
  static constexpr int64_t terms_of(int64_t elements) { return elements / S::kStep * S::kPack; }
  static constexpr int64_t kDepth = terms_of(512), kPanelDepth = terms_of(128);  // of a block, and of the few
  static constexpr int64_t kBlockColumns = 2048;

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
  void multiply(TileIndex at, int64_t columns, Done done) const {
    const int64_t depth = packed_terms<S>(at.terms), room = S::kCols * depth;
    const GemmTasks<S> tasks(m_, columns, at.terms, most_tiles(depth));
    const bool before = tasks.share_panels();
    const Workspace<E> packed(before ? tasks.panels() * room : 0);
    if (before) pack_columns(packed.data(), at, tasks.panels());
    tasks.run([&](int64_t begin, int64_t end) {
      const TileSession session;
      const Workspace<E> rows(tasks.height() * depth), sums(tasks.height() * S::kCols);
      for (int64_t i = begin; i < end; ++i) {
        const auto task = tasks[i];
        S::pack_rows(rows.data(), {a_.at(task.row, at.p), a_.row, a_.column}, task.rows, at.terms, depth);
        for (int64_t j = task.panel; j < task.last_panel; ++j)
          panel({rows.data(), before ? packed.data() + j * room : nullptr, sums.data()},
                {task.row, at.j + j * S::kCols, at.p, at.terms}, task.rows, done);
      }
    });
  }

  Operand<T> columns_at(int64_t p, int64_t j) const { return {b_.at(p, j), b_.row, b_.column}; }
  int columns_from(int64_t j) const { return static_cast<int>(std::min<int64_t>(n_ - j, S::kCols)); }

  void pack_columns(E* packed, TileIndex at, int64_t panels) const {
    const int64_t depth = packed_terms<S>(at.terms), room = depth * S::kCols;
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
  void panel(const Memory& memory, TileIndex at, int rows, Done done) const {
    const int columns = columns_from(at.j);
    const int64_t depth = packed_terms<S>(at.terms);
    alignas(64) E panel_buffer[kPanelDepth / S::kPack * S::kStep * S::kCols];
    for (int64_t q = 0; q == 0 || q < at.terms; q += kPanelDepth) {
      const int64_t terms = std::min(at.terms - q, kPanelDepth), round = packed_terms<S>(terms);
      const bool last = q + terms == at.terms;
      const E* b = memory.columns ? memory.columns + packed_terms<S>(q) * S::kCols : panel_buffer;
      if (!memory.columns) S::pack_columns(panel_buffer, columns_at(at.p + q, at.j), columns, terms, round);
      for (int i = 0; i < rows; i += S::kRows) {
        const int r = std::min(rows - i, S::kRows);
        const E* a = memory.rows + i * depth;
        E* tile = memory.sums + i * S::kCols;
        add_tile<S>(r, {tile, S::kCols, q > 0}, a + packed_terms<S>(q) * S::kSide, depth, b, round);
        if (!last) continue;
        if constexpr (S::kLosesTerms)
          ExactRecompute<S>(a_, b_, n_)({tile, r, columns}, {at.i + i, at.j, at.p, at.terms}, a);
        done(tile, at.i + i, at.j, r, columns);
      }
    }
  }

  Operand<T> a_, b_;
  int64_t m_, n_, k_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

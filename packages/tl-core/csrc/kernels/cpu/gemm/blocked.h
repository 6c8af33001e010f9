// Blocked GEMM (Goto and van de Geijn, 2008): operands are packed into panels in the layout of a format, and
// a micro-kernel computes each mr x nr tile of c.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/cpu_capability.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/epilogue.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/micro_kernel.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int64_t kGemmGrain = 1 << 20;  // multiplications that are worth a thread's while

// The tasks of a product: blocks of rows against shares of the panels of columns. Every task packs its rows,
// `most` tiles of S at most, and reads panels that another thread may have packed.
template <class S>
class GemmTasks {
 public:
  struct Task {
    int64_t row;
    int rows;
    int64_t panel, last_panel;
  };

  GemmTasks(int64_t rows, int64_t columns, int64_t terms, int64_t most)
      : rows_(rows),
        tiles_((rows + S::kRows - 1) / S::kRows),
        panels_((columns + S::kCols - 1) / S::kCols),
        terms_(terms) {
    divide(most);
  }

  int64_t panels() const { return panels_; }
  bool share_panels() const { return blocks_ > 1; }
  int64_t height() const { return (tiles_ + blocks_ - 1) / blocks_ * S::kRows; }  // rows of a task, at most

  // body(begin, end) runs the tasks in between on a thread.
  template <class F>
  void run(F body) const {
    const int64_t work = height() * terms_ * (panels_ / shares_ * S::kCols);
    parallel_for(0, blocks_ * shares_, kGemmGrain / 4 / (work + 1) + 1, body);
  }

  // Those of one share follow each other, as the thread that has packed it mostly takes it.
  Task operator[](int64_t task) const {
    const int64_t block = task % blocks_, share = task / blocks_,
                  row = part_begin(block, blocks_, tiles_) * S::kRows,
                  end = std::min(rows_, part_begin(block + 1, blocks_, tiles_) * S::kRows);
    return {row, static_cast<int>(end - row), part_begin(share, shares_, panels_),
            part_begin(share + 1, shares_, panels_)};
  }

 private:
  // A thread's part has the sides that are shortest together. Large parts are divided further, so that others
  // can take over from a thread that is late.
  void divide(int64_t most) {
    constexpr int64_t kFewTiles = 6, kFewPanels = 8;
    const int64_t threads =
        std::clamp<int64_t>(tiles_ * S::kRows * panels_ * S::kCols * terms_ / kGemmGrain, 1, num_threads());
    const auto perimeter = [&](int64_t blocks) {
      return tiles_ * S::kRows / blocks + panels_ * S::kCols * blocks / threads;
    };
    int64_t best = 1;
    for (int64_t blocks = 2; blocks <= threads; ++blocks)
      if (threads % blocks == 0 && perimeter(blocks) <= perimeter(best)) best = blocks;
    blocks_ = std::min(best, tiles_), shares_ = std::min(threads / best, panels_);
    const int64_t high = (tiles_ + blocks_ - 1) / blocks_, wide = panels_ / shares_;
    const int64_t parts = threads > 1 ? std::clamp<int64_t>(high / kFewTiles, 1, 4) : 1;
    blocks_ *= std::max(parts, (high + most - 1) / most);
    if (threads > 1 && wide >= 2 * kFewPanels) shares_ *= 2;
  }

  int64_t rows_, tiles_, panels_, terms_, blocks_ = 1, shares_ = 1;
};

// `F` is the format; the micro-kernels of a tile's rows come from `micros(vectors)`. A block of rows is
// packed, and columns are packed before if several blocks read them, else panel by panel.
template <class F>
struct BlockedGemm {
  using E = typename F::Element;
  using S = Tile<E>;
  static constexpr int64_t kDepth = S::kDepth * F::kPack;

  Operand<typename F::Storage> a, b;
  int64_t m, n, k;
  const MicroKernel<E>* (*micros)(int vectors);

  void run(const Epilogue<E>& first) const {
    const int64_t panels = Panels<E>(n).count(), blocks = (n + S::kBlockCols - 1) / S::kBlockCols,
                  block = (panels + blocks - 1) / blocks * S::kCols;
    for (int64_t j = 0; j < n; j += block)
      for (int64_t p = 0; p == 0 || p < k; p += kDepth)
        multiply(p, j, std::min(k - p, kDepth), std::min(n - j, block), p == 0 ? first : continued(first));
  }

 private:
  static int64_t elements(int64_t terms) { return (terms + F::kPack - 1) / F::kPack; }
  static int clipped(int64_t left, int most) { return static_cast<int>(std::min<int64_t>(left, most)); }

  void pack_columns(E* packed, int64_t p, int64_t j, int64_t terms, int columns) const {
    pack_columns_as<F>(packed, {b.at(p, j), b.row, b.column}, columns, terms);
  }

  void pack_panels(E* packed, int64_t p, int64_t j, int64_t terms, const Panels<E>& panels) const {
    const int64_t room = elements(terms) * S::kCols;
    parallel_for(0, panels.count(), (1 << 14) / (room + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pack_columns(packed + i * room, p, j + panels.begin(i), terms, panels.columns(i));
    });
  }

  // Tile by tile. Where columns are dense all tiles read a few of them before any reads more.
  void pack_rows(E* packed, int64_t i, int64_t p, int rows, int64_t terms) const {
    constexpr int64_t kSlice = 32 * F::kPack;
    const int64_t slice = a.row == 1 && a.column != 1 ? kSlice : terms;
    for (int64_t q = 0; q < terms; q += slice)
      for (int r = 0; r < rows; r += S::kRows)
        pack_rows_as<F>(packed + r * elements(terms) + q / F::kPack * S::kRows,
                        {a.at(i + r, p + q), a.row, a.column}, clipped(rows - r, S::kRows),
                        std::min(terms - q, slice));
  }

  // How many rows of tiles a block has at most, which then fills half of the second-level cache.
  static int64_t most_tiles(int64_t depth) {
    const int64_t fit = cpu_cache_bytes() / 2 / (depth * static_cast<int64_t>(sizeof(E)) + 1);
    return std::clamp<int64_t>(fit, S::kRows, S::kBlockRows) / S::kRows;
  }

  void multiply(int64_t p, int64_t j, int64_t terms, int64_t columns, const Epilogue<E>& o) const {
    const int64_t depth = elements(terms), room = S::kCols * depth;
    const GemmTasks<S> tasks(m, columns, terms, most_tiles(depth));
    const Panels<E> panels(columns);
    const bool before = tasks.share_panels();
    const Workspace<E> packed(before ? panels.count() * room : 0);
    if (before) pack_panels(packed.data(), p, j, terms, panels);
    tasks.run([&](int64_t begin, int64_t end) {
      const Workspace<E> rows(tasks.height() * depth + kLanes<E>), panel_buffer(before ? 0 : room);
      for (int64_t i = begin; i < end; ++i) {
        const auto task = tasks[i];
        pack_rows(rows.data(), task.row, p, task.rows, terms);
        for (int64_t panel = task.panel; panel < task.last_panel; ++panel) {
          const int64_t at = j + panels.begin(panel);
          if (!before) pack_columns(panel_buffer.data(), p, at, terms, panels.columns(panel));
          one_panel(rows.data(), before ? packed.data() + panel * room : panel_buffer.data(), depth, o,
                    task.row, at, task.rows, panels.columns(panel));
        }
      }
    });
  }

  void one_panel(const E* a_block, const E* panel, int64_t depth, const Epilogue<E>& o, int64_t i0,
                 int64_t j0, int rows, int columns) const {
    const MicroKernel<E>* kernels = micros(vectors_for<E>(columns));
    for (int i = 0; i < rows; i += S::kRows) {
      const int r = clipped(rows - i, S::kRows);
      prefetch(o, i0 + i, j0, r, columns);
      run_epilogue<S::kRows, S::kCols>(o, i0 + i, j0, r, columns, [&](const AccumulatorTarget<E>& to) {
        kernels[r - 1](to, a_block + i * depth, 1, S::kRows, panel, S::kCols, depth);
      });
    }
  }
};

template <class T>
Operand<T> operand(const MatrixView& v) {
  return {reinterpret_cast<const T*>(v.data), v.row_stride, v.column_stride};
}

// Sums of a narrow type stay in float until they are whole: rows and columns go in blocks.
template <class T, class Run>
void narrow_gemm(const GemmArgs& p, Run run) {
  constexpr int64_t kRows = 1024, kColumns = 2048;
  const float alpha = scalar_or<float>(p.alpha, 1), beta = scalar_or<float>(p.beta, 0);
  Workspace<float> sums((p.m < kRows ? p.m : kRows) * (p.n < kColumns ? p.n : kColumns));
  const auto shifted = [](const MatrixView& v, int64_t i, int64_t j) {
    return MatrixView{v.data + (i * v.row_stride + j * v.column_stride) * static_cast<int64_t>(sizeof(T)),
                      v.row_stride, v.column_stride};
  };
  for (int64_t i = 0; i < p.m; i += kRows) {
    for (int64_t j = 0; j < p.n; j += kColumns) {
      const int64_t rows = p.m - i < kRows ? p.m - i : kRows,
                    columns = p.n - j < kColumns ? p.n - j : kColumns;
      run(GemmArgs{rows, columns, p.k, shifted(p.a, i, 0), shifted(p.b, 0, j), {}, {}, nullptr, nullptr},
          Epilogue<float>{sums.data(), columns, 1, nullptr, 0, 0, 1, 0});
      narrow_block<T>(sums.data(), rows, columns, shifted(p.c, i, j), shifted(p.added, i, j), alpha, beta);
    }
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

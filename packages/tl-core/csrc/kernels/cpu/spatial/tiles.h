// Tiling of a separable resampling: tiles of outputs along its outermost axis, small enough that the
// intermediate between the passes over the axes stays in the cache.
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/spatial/resample_weights.h"

namespace tl::cpu {

struct Tile {
  int64_t plane;
  int64_t begin, end;   // outputs along the outer axis
  int64_t first, rows;  // inputs along it: the first one, and how many there are
};

class Tiling {
 public:
  static constexpr int64_t kBytes = 192 << 10, kRows = 64;

  Tiling(const SeparableResample& field, int64_t itemsize) : field_(field) {
    outer_ = field.axes[0].inputs > 1 || field.axes[0].outputs() > 1 ? 0 : 1;
    const ResampleWeights& map = axis();
    only_rows_ = outer_ == 1 && map.inputs == 1 && map.is_identity() && field.inner == 1;
    const int64_t line =
        itemsize * field.inner * field.axes[2].outputs() * (outer_ ? 1 : field.axes[1].inputs);
    const int64_t fits = std::max<int64_t>(1, kBytes / std::max<int64_t>(line, 1));
    step_ = map.outputs() ? std::clamp<int64_t>(fits * map.outputs() / std::max<int64_t>(map.inputs, 1), 1,
                                                map.outputs())
                          : 1;
    count_ = (map.outputs() + step_ - 1) / step_;
    for (int64_t s = 0; s < count_; ++s) {
      const int64_t rows = at(s).rows;
      longest_ = std::max(longest_, rows);
      if (rows && std::ranges::find(row_counts_, rows) == row_counts_.end()) row_counts_.push_back(rows);
    }
  }

  int outer() const { return outer_; }
  const ResampleWeights& axis() const { return field_.axes[outer_]; }
  int64_t longest() const { return longest_; }  // the most inputs a tile has
  int64_t step() const { return step_; }        // the most outputs
  // How many rows along the width the tiles have, as inputs or as outputs of the other axes; without any
  // other axis, planes are the rows.
  std::vector<int64_t> row_counts(bool of_inputs) const {
    if (only_rows()) return {kRows, field_.planes % kRows ? field_.planes % kRows : kRows};
    const ResampleWeights& height = field_.axes[1];
    std::vector<int64_t> counts = row_counts_;
    if (!of_inputs) counts = {step_, axis().outputs() % step_ ? axis().outputs() % step_ : step_};
    for (int64_t& n : counts) n *= outer_ ? 1 : of_inputs ? height.inputs : height.outputs();
    return counts;
  }
  bool only_rows() const { return only_rows_; }
  int64_t all_rows(bool of_inputs) const {  // of all planes
    const ResampleWeights &depth = field_.axes[0], &height = field_.axes[1];
    return field_.planes * (of_inputs ? depth.inputs * height.inputs : depth.outputs() * height.outputs());
  }

  // With rows only: f() as below, g(row, rows) runs up to kRows rows.
  template <class F>
  void run_rows(F f) const {
    const int64_t work = field_.axes[2].inputs + field_.axes[2].outputs(),
                  pieces = (field_.planes + kRows - 1) / kRows;
    parallel_for(0, pieces, std::max<int64_t>(1, 32768 / (work * kRows + 1)), [&](int64_t b, int64_t e) {
      auto g = f();
      for (int64_t r = b * kRows; r < std::min(e * kRows, field_.planes); r += kRows)
        g(r, std::min(kRows, field_.planes - r));
    });
  }

  // With few rows only: f(begin, end) for parts of the outputs of each row.
  template <class F>
  void run_outputs(F f) const {
    const ResampleWeights& width = field_.axes[2];
    const auto taps = static_cast<int64_t>(width.index.size());
    const int64_t outputs = std::max<int64_t>(width.outputs(), 1);
    parallel_for(0, width.outputs(), 1 + 32768 / (1 + taps * field_.planes / outputs), f);
  }

  // On the pool: g = f() has what a chunk of tasks shares, g(tile) runs one.
  template <class F>
  void run(F f) const {
    const int64_t work =
        std::max<int64_t>(1, field_.input_plane() * step_ / std::max<int64_t>(axis().outputs(), 1));
    parallel_for(0, field_.planes * count_, std::max<int64_t>(1, 32768 / work), [&](int64_t b, int64_t e) {
      auto g = f();
      for (int64_t t = b; t < e; ++t) {
        Tile tile = at(t % count_);
        tile.plane = t / count_;
        g(tile);
      }
    });
  }

 private:
  Tile at(int64_t s) const {
    const ResampleWeights& map = axis();
    Tile tile{0, s * step_, std::min((s + 1) * step_, map.outputs()), 0, 0};
    int64_t low = INT64_MAX, top = -1;
    for (int64_t k = map.begin[tile.begin]; k < map.begin[tile.end]; ++k) {
      low = std::min(low, map.index[k]);
      top = std::max(top, map.index[k]);
    }
    if (top >= 0) tile.first = low, tile.rows = top - low + 1;
    return tile;
  }

  const SeparableResample& field_;
  int outer_;
  bool only_rows_;
  int64_t step_, count_, longest_ = 0;
  std::vector<int64_t> row_counts_;
};

}  // namespace tl::cpu

// Convolution of 3 x 3 taps and stride 1 by Winograd's F(2 x 2, 3 x 3): four outputs of a tile by 16 products
// in the index of 36 (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016).
#pragma once

#include <atomic>
#include <cstdlib>

#include "kernels/cpu/conv/packed_weight.h"
#include "kernels/cpu/conv/padded_planes.h"
#include "kernels/cpu/simd/load_store.h"

#if TL_ISA_LEVEL >= 4
namespace tl::cpu::TL_ISA_NAMESPACE {

namespace winograd {

constexpr int kPoints = 16;  // of a transformed tile
constexpr int W = kLanes<float>, kRows = Tile<float>::kRows, kCols = Tile<float>::kCols;
static_assert(W == 2 * kRows);

// What is larger could leave the range of floats on the way; what is not a number would reach a whole tile.
constexpr float kLargest = 0x1p100f;
TL_INLINE Mask<VecF> too_large(VecF x) { return ~(abs(x) <= kLargest); }

// B' d B of a tile d of 4 x 4.
TL_INLINE void transform_input(VecF (&d)[4][4]) {
  for (auto& row : d) {
    const VecF x[4] = {row[0] - row[2], row[1] + row[2], row[2] - row[1], row[1] - row[3]};
    std::copy(x, x + 4, row);
  }
  for (int k = 0; k < 4; ++k) {
    const VecF x[4] = {d[0][k] - d[2][k], d[1][k] + d[2][k], d[2][k] - d[1][k], d[1][k] - d[3][k]};
    for (int i = 0; i < 4; ++i) d[i][k] = x[i];
  }
}

// G g G' of the taps g.
TL_INLINE void transform_taps(const VecF (&g)[3][3], VecF (&u)[4][4]) {
  const auto along = [](VecF a, VecF b, VecF c, VecF* to, int step) {
    const VecF ends = a + c;
    to[0] = a;
    to[step] = 0.5f * (ends + b);
    to[2 * step] = 0.5f * (ends - b);
    to[3 * step] = c;
  };
  VecF h[4][3];
  for (int k = 0; k < 3; ++k) along(g[0][k], g[1][k], g[2][k], &h[0][k], 3);
  for (int i = 0; i < 4; ++i) along(h[i][0], h[i][1], h[i][2], u[i], 1);
}

// A' m A: the outputs of a tile, row by row.
TL_INLINE void transform_output(const VecF (&m)[4][4], VecF (&y)[2][2]) {
  VecF s[2][4];
  for (int k = 0; k < 4; ++k) {
    s[0][k] = m[0][k] + m[1][k] + m[2][k];
    s[1][k] = m[1][k] - m[2][k] - m[3][k];
  }
  for (int a = 0; a < 2; ++a) {
    y[a][0] = s[a][0] + s[a][1] + s[a][2];
    y[a][1] = s[a][1] - s[a][2] - s[a][3];
  }
}

// Transformed taps as left operands: [group][rows by 8][point][channel][row], and whether all are in range.
// The convolution's packing holds them for later calls.
class Weights {
 public:
  explicit Weights(const Convolution& c)
      : c_(c),
        blocks_(ceil_div(c.rows, kRows)),
        copy_(find_copy()),
        data_(copy_ ? 0 : size()),
        first_(copy_ ? copy_ : data_.data()) {
    if (!copy_) transform_all(data_.data());
    in_range_ = first_[size() - 1] == 1.0f;
  }

  bool in_range() const { return in_range_; }
  const float* rows(int64_t group, int64_t row) const {
    return first_ + (group * blocks_ + row / kRows) * block_size();
  }

 private:
  int64_t channels() const { return (c_.channels + 1) / 2 * 2; }  // two to a vector
  int64_t block_size() const { return kPoints * channels() * kRows; }
  int64_t size() const { return c_.groups * blocks_ * block_size() + 1; }  // the last: 1 if all are in range

  const float* find_copy() const {
    if (!c_.packing) return nullptr;
    const char* copy = c_.packing->form(Packing::Winograd, static_cast<size_t>(size()) * sizeof(float),
                                        [&](char* to) { transform_all(reinterpret_cast<float*>(to)); });
    return reinterpret_cast<const float*>(copy);
  }

  void transform_all(float* to) const {
    std::atomic<bool> large = false;
    parallel_for(0, c_.groups * blocks_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (pack(to + i * block_size(), i / blocks_, i % blocks_ * kRows)) large = true;
    });
    to[size() - 1] = large ? 0.0f : 1.0f;
  }

  // Eight rows of two channels fill a vector. Returns whether a tap is too large.
  bool pack(float* to, int64_t group, int64_t row) const {
    const ConvolutionWeight& w = c_.weight;
    const auto* first = reinterpret_cast<const float*>(w.data) + group * w.group + row * w.row;
    const VecI lane = iota<VecI>(), index = (lane & (kRows - 1)) * static_cast<int32_t>(w.row) +
                                            (lane >> 3) * static_cast<int32_t>(w.channel);
    Mask<VecF> large{};
    for (int64_t k = 0; k < c_.channels; k += 2) {
      const auto used = ((lane & (kRows - 1)) < static_cast<int32_t>(c_.rows - row)) &
                        ((lane >> 3) < static_cast<int32_t>(c_.channels - k));
      const __mmask16 lanes = _mm512_movepi32_mask(bitcast<__m512i>(used));
      VecF g[3][3], u[4][4];
      for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 3; ++x) {
          const float* from = first + k * w.channel + tap(1, y) * w.tap[1] + tap(2, x) * w.tap[2];
          g[y][x] = bitcast<VecF>(
              _mm512_mask_i32gather_ps(__m512{}, lanes, bitcast<__m512i>(index), from, sizeof(float)));
          large |= too_large(g[y][x]);
        }
      transform_taps(g, u);
      for (int p = 0; p < kPoints; ++p)
        write(reinterpret_cast<char*>(to + (p * channels() + k) * kRows), u[p / 4][p % 4]);
    }
    return any(large);
  }
  // The tap at an element of the window.
  int64_t tap(int axis, int element) const { return c_.axis[axis].tap_step > 0 ? element : 2 - element; }

  const Convolution& c_;
  int64_t blocks_;
  const float* copy_;
  Workspace<float> data_;
  const float* first_;
  bool in_range_;
};

// Consecutive tiles of a row of tiles.
struct TileRun {
  int64_t y, x;
  int at, count;  // where it lies in its panel
};

}  // namespace winograd

class WinogradProduct {
 public:
  // Two axes, and channels, rows and tiles enough for the products to outweigh the transforms.
  static bool suits(const Convolution& c) {
    constexpr int64_t kFew = 32, kMany = 512, kFar = 1 << 24;
    const ConvolutionAxis& outer = c.axis[0];
    if (c.channels < kFew || c.channels > kMany || c.rows < kFew || outer.taps != 1 || outer.out != 1 ||
        outer.first != 0 || !Planes<float>::suit(c) || c.out.axis[2] != 1)
      return false;
    for (int d = 1; d < kConvolutionAxes; ++d)
      if (c.axis[d].taps != 3 || std::abs(c.axis[d].tap_step) != 1) return false;
    const bool fits = std::abs(c.weight.row) < kFar && std::abs(c.weight.channel) < kFar;
    const int64_t tiles = (c.axis[1].out + 1) / 2 * ((c.axis[2].out + 1) / 2);
    return fits && tiles >= winograd::W && c.batch * tiles >= 2 * winograd::W;
  }

  explicit WinogradProduct(const Convolution& c)
      : c_(c),
        from_(c),
        weights_(c),
        across_((c.axis[2].out + 1) / 2),
        panels_((c.axis[1].out + 1) / 2 * across_),
        plane_(from_.size()),
        images_(
            std::clamp<int64_t>(num_threads() * kElements / (c.groups * c.channels * plane_), 1, c.batch)),
        // Tiles at an odd edge read a row and a column that no output needs.
        planes_(images_ * c.groups * c.channels * plane_ + 2 * from_.pitch(1) + 4 * winograd::W) {}

  // Whether it was possible: numbers that are too large, or none, are left to another kernel.
  bool run() const {
    if (!weights_.in_range()) return false;
    for (int64_t n = 0; n < c_.batch; n += images_) {
      const int64_t images = std::min(images_, c_.batch - n);
      from_.copy(planes_.data(), n, images);
      if (!in_range(images * c_.groups * c_.channels * plane_)) return false;
      multiply(n, images);
    }
    return true;
  }

 private:
  static constexpr int64_t kElements = 1 << 18;    // of the copies, so that they stay in the cache
  static constexpr int64_t kPanelBytes = 1 << 20;  // of the panels that share a pass over the weights
  using TileRuns = std::vector<winograd::TileRun>;

  bool in_range(int64_t n) const {
    std::atomic<bool> large = false;
    parallel_for(0, n, 1 << 15, [&](int64_t begin, int64_t end) {
      Mask<VecF> some{};
      for (int64_t i = begin; i < end; i += winograd::W)
        some |= winograd::too_large(load_some<float>(planes_.data() + i, end - i));
      if (any(some)) large = true;
    });
    return !large;
  }

  int64_t panel_size() const { return winograd::kPoints * c_.channels * winograd::kCols; }

  // Panels are independent: how they are shared out changes no result.
  void multiply(int64_t first, int64_t images) const {
    const int64_t together = std::clamp<int64_t>(
                      kPanelBytes / (panel_size() * static_cast<int64_t>(sizeof(float))), 1, panels_.count()),
                  shares = std::max(ceil_div(panels_.count(), together),
                                    std::min(panels_.count(), num_threads() / (c_.groups * images)));
    const int64_t share = ceil_div(panels_.count(), shares), work = panel_size() * c_.rows * share;
    parallel_for(0, c_.groups * images * shares, (1 << 20) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      const Workspace<float> panels(share * panel_size());
      for (int64_t i = begin; i < end; ++i)
        some_panels(panels.data(), first, i / shares % images, i / shares / images,
                    {part_begin(i % shares, shares, panels_.count()),
                     part_begin(i % shares + 1, shares, panels_.count())});
    });
  }

  void some_panels(float* panels, int64_t first, int64_t image, int64_t group, TapRange range) const {
    std::vector<TileRuns> runs;
    const float* planes = planes_.data() + (image * c_.groups + group) * c_.channels * plane_;
    for (int64_t p = range.begin; p < range.end; ++p) {
      runs.push_back(runs_of(panels_.begin(p), panels_.columns(p)));
      for (int64_t k = 0; k < c_.channels; ++k)
        for (const winograd::TileRun& run : runs.back())
          pack(panels + (p - range.begin) * panel_size() + k * winograd::kCols, planes + k * plane_, run);
    }
    for (int64_t row = 0; row < c_.rows; row += winograd::kRows)
      for (int64_t p = range.begin; p < range.end; ++p)
        one_panel(panels + (p - range.begin) * panel_size(), panels_.columns(p),
                  runs[static_cast<size_t>(p - range.begin)], {first + image, group, row});
  }

  TileRuns runs_of(int64_t begin, int columns) const {
    TileRuns runs;
    for (int at = 0; at < columns; at += runs.back().count) {
      const int64_t y = (begin + at) / across_, x = (begin + at) % across_;
      runs.push_back({y, x, at, static_cast<int>(std::min<int64_t>(columns - at, across_ - x))});
    }
    return runs;
  }

  // Tiles of a channel, transformed: each point of theirs in a plane of the panel.
  void pack(float* panel, const float* plane, const winograd::TileRun& run) const {
    using namespace winograd;
    for (int j = 0; j < run.count; j += W) {
      const int n = std::min(W, run.count - j);
      const float* from = plane + 2 * run.y * from_.pitch(1) + 2 * (run.x + j);
      VecF d[4][4];
      for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x)
          d[y][x] = load_strided<float>(reinterpret_cast<const char*>(from + y * from_.pitch(1) + x),
                                        2 * sizeof(float), n);
      transform_input(d);
      for (int p = 0; p < kPoints; ++p)
        store_some<float>(panel + p * c_.channels * kCols + run.at + j, n, d[p / 4][p % 4]);
    }
  }

  struct RowIndex {
    int64_t image, group, row;
  };

  void one_panel(const float* panel, int columns, const TileRuns& runs, const RowIndex& at) const {
    using namespace winograd;
    alignas(64) float sums[kPoints * kRows * kCols + W];
    const int rows = static_cast<int>(std::min<int64_t>(kRows, c_.rows - at.row));
    const MicroKernel<float> micro = packed_micros(float{}, vectors_for<float>(columns))[rows - 1];
    const float* weights = weights_.rows(at.group, at.row);
    const int64_t channels = (c_.channels + 1) / 2 * 2;
    for (int p = 0; p < kPoints; ++p)
      micro({sums + p * kRows * kCols, kCols}, weights + p * channels * kRows, 1, kRows,
            panel + p * c_.channels * kCols, kCols, c_.channels);
    for (int r = 0; r < rows; ++r) {
      const int64_t row = at.group * c_.rows + at.row + r;
      float* out = reinterpret_cast<float*>(c_.out.data) + at.image * c_.out.batch + row * c_.out.channel;
      const float bias = c_.bias ? reinterpret_cast<const float*>(c_.bias)[row * c_.bias_stride] : 0.0f;
      for (const TileRun& run : runs) store(out, sums + r * kCols, bias, run);
    }
  }

  void store(float* out, const float* sums, float bias, const winograd::TileRun& run) const {
    using namespace winograd;
    using Zip = RegisterTranspose<float>;
    constexpr auto lanes = std::make_index_sequence<W>{};
    for (int j = 0; j < run.count; j += W) {
      VecF m[4][4], y[2][2];
      for (int p = 0; p < kPoints; ++p)
        m[p / 4][p % 4] = read<VecF>(reinterpret_cast<const char*>(sums + p * kRows * kCols + run.at + j));
      transform_output(m, y);
      const int64_t column = 2 * (run.x + j);
      const int64_t left = std::min<int64_t>(2 * (run.count - j), c_.axis[2].out - column);
      for (int a = 0; a < 2 && 2 * run.y + a < c_.axis[1].out; ++a) {
        float* to = out + (2 * run.y + a) * c_.out.axis[1] + column;
        const VecF even = y[a][0] + bias, odd = y[a][1] + bias;
        store_some<float>(to, left, Zip::zip_low(even, odd, lanes));
        if (left > W) store_some<float>(to + W, left - W, Zip::zip_high(even, odd, lanes));
      }
    }
  }

  const Convolution& c_;
  Planes<float> from_;
  winograd::Weights weights_;
  int64_t across_;  // tiles of a row of outputs
  Panels<float> panels_;
  int64_t plane_, images_;
  Workspace<float> planes_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
#endif

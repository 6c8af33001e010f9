// Convolution of stride 1 as GEMM on padded planes: columns are read in them, without gathering.
#pragma once

#include "kernels/cpu/conv/output.h"
#include "kernels/cpu/conv/packed_weight.h"
#include "kernels/cpu/conv/padded_planes.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
class PlaneProduct {
 public:
  using S = Tile<T>;
  static constexpr int kCols = S::kCols;

  // Sums that go nowhere cost less than gathering the columns of every panel.
  static bool pays(const Convolution& c) {
    constexpr int64_t kGather = 40;  // rows of a product that take as long
    if (!Planes<T>::suit(c)) return false;
    const ConvolutionGeometry g(c);
    const int64_t columns = ceil_div(Planes<T>(c).span(), kCols) * kCols;
    return c.batch * g.positions() > 8 * kCols && columns * (c.rows + 4) < g.positions() * (c.rows + kGather);
  }

  explicit PlaneProduct(const Convolution& c)
      : g_(c),
        c_(c),
        from_(c),
        depth_(g_.taps() * c.channels),
        weight_(g_, depth_),
        panels_(ceil_div(from_.span(), kCols)),
        images_(std::clamp<int64_t>(num_threads() * kElements / (c.groups * c.channels * from_.size()), 1,
                                    c.batch)),
        planes_(images_ * c.groups * c.channels * from_.size() + kCols) {
    for (int64_t k = 0; k < depth_.total; ++k) terms_.push_back(from_.offset(k / g_.taps(), k % g_.taps()));
    terms_.resize(terms_.size() + kPrefetchDistance, terms_.empty() ? 0 : terms_.back());
  }

  void run() const {
    for (int64_t n = 0; n < c_.batch; n += images_) {
      const int64_t images = std::min(images_, c_.batch - n);
      from_.copy(planes_.data(), n, images);
      multiply(n, images);
    }
  }

 private:
  static constexpr int64_t kElements = 1 << 18;  // of the copies, so that they stay in the cache
  static constexpr int64_t kGroup = 8;           // panels that share a pass over the weights

  // Panels and tiles are independent: how they are shared out changes no result.
  void multiply(int64_t first, int64_t images) const {
    const int64_t all = c_.groups * images, threads = num_threads(),
                  rounds = ceil_div(all * ceil_div(panels_, kGroup), threads),
                  shares = std::clamp<int64_t>(rounds * threads / all, ceil_div(panels_, kGroup), panels_),
                  share = ceil_div(panels_, shares), work = depth_.total * c_.rows * share * kCols;
    parallel_for(0, all * shares, (1 << 21) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      std::vector<PanelOutput<T>> outputs(static_cast<size_t>(share), PanelOutput<T>(c_));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / shares % images, group = i / shares / images, number = i % shares,
                      panel = part_begin(number, shares, panels_),
                      count = part_begin(number + 1, shares, panels_) - panel;
        for (int64_t p = 0; p < count; ++p)
          set_positions(outputs[static_cast<size_t>(p)], first + image, (panel + p) * kCols);
        const int64_t plane = (image * c_.groups + group) * c_.channels;
        some_panels(planes_.data() + plane * from_.size() + panel * kCols, group, outputs.data(), count);
      }
    });
  }

  // The positions among a panel's columns.
  void set_positions(PanelOutput<T>& output, int64_t image, int64_t begin) const {
    const int64_t end = std::min(begin + kCols, from_.span()), pitch = from_.pitch(1),
                  rows = from_.pitch(0) / pitch;
    output.clear();
    for (int64_t row = begin / pitch; row * pitch < end; ++row) {
      const int64_t start = row * pitch, from = std::max(start, begin);
      const PositionRun run{image,
                            {row / rows, row % rows, from - start},
                            static_cast<int>(from - begin),
                            static_cast<int>(std::min(start + c_.axis[2].out, end) - from)};
      if (run.q[1] < c_.axis[1].out && run.count > 0) output.add(run);
    }
  }

  void some_panels(const T* planes, int64_t group, const PanelOutput<T>* outputs, int64_t count) const {
    alignas(64) T sums[PanelOutput<T>::kRoom];
    for (int64_t block = 0; block < depth_.blocks; ++block) {
      const int64_t* terms = terms_.data() + depth_.begin(block);
      for (int64_t row = 0; row < c_.rows; row += S::kRows) {
        const T* weight = weight_.rows(group, block, row).data;
        const int rows = static_cast<int>(std::min<int64_t>(S::kRows, c_.rows - row));
        const SpreadMicro<T> micro = spread_micro(T{}, rows);
        for (int64_t i = 0; i < count; ++i) {
          if (block > 0) outputs[i].prefetch(group, row, rows);
          micro(sums, weight, planes + i * kCols, terms, depth_.size(block));
          outputs[i].finish(sums, group, row, rows, block == 0);
        }
      }
    }
  }

  ConvolutionGeometry g_;
  const Convolution& c_;
  Planes<T> from_;
  Depth<T> depth_;
  Weight<T> weight_;
  int64_t panels_, images_;
  Workspace<T> planes_;
  std::vector<int64_t> terms_;  // of a sum, where they lie
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// Weight gradient of a small convolution: inner products of padded planes, a vector of positions at a time:
// those of the result's gradient are spaced as positions lie in the images' planes, with zeros between.
#pragma once

#include <array>

#include "kernels/cpu/conv/packed_weight.h"
#include "kernels/cpu/conv/padded_planes.h"
#include "kernels/cpu/gemm/register_tile.h"
#include "kernels/cpu/simd/horizontal.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
class PlaneWeight {
 public:
  using V = Vec<T>;
  static constexpr int W = kLanes<T>;

  // Every sum is a vector until the end: there must not be many.
  static bool pays(const Convolution& c) {
    if (!Planes<T>::suit(c) || c.out.axis[2] != 1) return false;
    const ConvolutionGeometry g(c);
    return c.rows * c.channels * g.taps() <= 4096 && Planes<T>(c).span() <= 2 * g.positions();
  }

  explicit PlaneWeight(const Convolution& c)
      : g_(c),
        c_(c),
        from_(c),
        columns_(g_.taps() * c.channels),
        length_((ceil_div(from_.span(), W) + 1) * W),
        tiles_(ceil_div(c.rows, kRows)),
        column_tiles_(ceil_div(columns_, kColumns)),
        cache_images_(fitting(kCacheElements)),
        images_(num_threads() == 1 ? cache_images_ : fitting(kElements / c.groups)),
        planes_(images_ * c.groups * c.channels * from_.size()),
        gradients_((images_ * c.groups * c.rows + 1) * length_),
        sums_(c.groups * tiles_ * column_tiles_ * kTile) {
    for (int64_t j = 0; j < column_tiles_ * kColumns; ++j) {
      const int64_t column = std::min(j, columns_ - 1);  // what fills up the last tile goes nowhere
      columns_at_.push_back(from_.offset(column / g_.taps(), column % g_.taps()));
    }
  }

  void run() const {
    const int64_t tiles = c_.groups * tiles_ * column_tiles_;
    std::memset(sums_.data(), 0, sizeof(T) * static_cast<size_t>(tiles * kTile));
    for (int64_t n = 0; n < c_.batch; n += images_) {
      const int64_t images = std::min(images_, c_.batch - n);
      from_.copy(planes_.data(), n, images);
      copy_gradients(n, images);
      parallel_for(0, tiles, (1 << 21) / (images * length_ * kRows * kColumns) + 1,
                   [&](int64_t begin, int64_t end) { some_tiles(begin, end, images); });
    }
    store();
  }

 private:
  static constexpr int kRows = kIsaLevel >= 4 ? 6 : 2, kColumns = 4, kTile = kRows * kColumns * W;
  static constexpr int64_t kCacheElements = 10 << 10;  // elements of images that a thread goes over at once
  static constexpr int64_t kElements = 1
                                       << 18;  // of those that threads share, so that they stay in the cache

  // Some rows, and columns whose distances are at `columns`.
  struct Operands {
    const T* gradients;
    const T* planes;
    const int64_t* columns;
    int64_t gradient_step, plane_step;  // from image to image
  };
  using Micro = void (*)(T* sums, const Operands& from, int64_t images, int64_t length);

  template <int R>
  static void micro(T* sums, const Operands& from, int64_t images, int64_t length) {
    RegisterTile<V, R, kColumns> parts;
    parts.fill([&](int i, int j) TL_INLINED { return read<V>(vector(sums, i, j)); });
    for (int64_t n = 0; n < images; ++n) {
      const T* x[kColumns];
      for (int j = 0; j < kColumns; ++j) x[j] = from.planes + n * from.plane_step + from.columns[j];
      const T* g = from.gradients + n * from.gradient_step;
      for (int64_t p = 0; p < length - W; p += W)
        parts.add([&](int i)
                      TL_INLINED { return read<V>(reinterpret_cast<const char*>(g + i * length + p)); },
                  [&](int j) TL_INLINED { return read<V>(reinterpret_cast<const char*>(x[j] + p)); });
    }
    parts.each([&](int i, int j, V part) TL_INLINED { write(vector(sums, i, j), part); });
  }
  static char* vector(T* sums, int i, int j) {
    return reinterpret_cast<char*>(sums + (i * kColumns + j) * W);
  }

  // Every second number of rows will do: what a row more sums goes nowhere.
  template <size_t... R>
  static Micro micro_for(int64_t rows, std::index_sequence<R...>) {
    static constexpr Micro kernels[] = {&micro<2 * static_cast<int>(R) + 2>...};
    return kernels[(rows - 1) / 2];
  }

  int64_t fitting(int64_t elements) const {
    return std::clamp<int64_t>(elements / (c_.channels * from_.size() + kRows * length_), 1, c_.batch);
  }

  void some_tiles(int64_t begin, int64_t end, int64_t images) const {
    for (int64_t n = 0; n < images; n += cache_images_)
      for (int64_t i = begin; i < end; ++i) one_tile(i, n, std::min(cache_images_, images - n));
  }

  void one_tile(int64_t tile, int64_t first, int64_t images) const {
    const int64_t column = tile % column_tiles_ * kColumns, group = tile / column_tiles_ / tiles_,
                  row = tile / column_tiles_ % tiles_ * kRows;
    const int64_t gradient_step = c_.groups * c_.rows * length_,
                  plane_step = c_.groups * c_.channels * from_.size();
    const Operands from{gradients_.data() + first * gradient_step + (group * c_.rows + row) * length_,
                        planes_.data() + first * plane_step + group * c_.channels * from_.size(),
                        columns_at_.data() + column, gradient_step, plane_step};
    const Micro kernel =
        micro_for(std::min<int64_t>(kRows, c_.rows - row), std::make_index_sequence<kRows / 2>{});
    kernel(sums_.data() + tile * kTile, from, images, length_);
  }

  void copy_gradients(int64_t first, int64_t images) const {
    const int64_t channels = c_.groups * c_.rows;
    parallel_for(0, images * channels, (1 << 15) / length_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = (first + i / channels) * c_.out.batch + i % channels * c_.out.channel;
        space(gradients_.data() + i * length_, reinterpret_cast<const T*>(c_.out.data) + from);
      }
    });
  }

  // Ascending: what a vector writes beyond a row is overwritten by the next.
  void space(T* to, const T* from) const {
    const int64_t pitch = from_.pitch(1), rows = from_.pitch(0) / pitch, n = c_.axis[2].out,
                  last = from_.span() - n;
    for (int64_t start = 0; start <= last; start += pitch) {
      const int64_t q0 = start / pitch / rows, q1 = start / pitch % rows;
      const T* row = from + q0 * c_.out.axis[0] + q1 * c_.out.axis[1];
      const int64_t count = q1 < c_.axis[1].out ? n : 0;
      for (int64_t j = 0; j < (start == last ? n : pitch); j += W) {
        const int hi = static_cast<int>(std::clamp<int64_t>(count - j, 0, W));
        write(reinterpret_cast<char*>(to + start + j), load_lanes<T>(row + j, 1, 0, hi));
      }
    }
    write(reinterpret_cast<char*>(to + last + n), V{});
  }

  void store() const {
    const ConvolutionWeight& w = c_.weight;
    for (int64_t i = 0; i < c_.groups * c_.rows; ++i) {
      T* to = reinterpret_cast<T*>(w.data) + i / c_.rows * w.group + i % c_.rows * w.row;
      const int64_t row = i % c_.rows, tiles = (i / c_.rows * tiles_ + row / kRows) * column_tiles_;
      for (int64_t j = 0; j < columns_; ++j) {
        const Tap tap(c_, j % g_.taps());
        int64_t at_ = j / g_.taps() * w.channel;
        for (int d = 0; d < kConvolutionAxes; ++d) at_ += tap.t[d] * w.tap[d];
        T* sums = sums_.data() + (tiles + j / kColumns) * kTile;
        to[at_] = horizontal_sum(
            read<V>(vector(sums, static_cast<int>(row % kRows), static_cast<int>(j % kColumns))));
      }
    }
  }

  ConvolutionGeometry g_;
  const Convolution& c_;
  Planes<T> from_;
  int64_t columns_, length_, tiles_, column_tiles_, cache_images_, images_;
  Workspace<T> planes_, gradients_, sums_;
  std::vector<int64_t> columns_at_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

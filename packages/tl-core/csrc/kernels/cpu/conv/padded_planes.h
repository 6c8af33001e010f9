// Padded planes: images copied with their padding. For stride 1, what a tap reads at consecutive positions
// lies together, over the ends of rows. What is computed across an end goes nowhere.
#pragma once

#include "base/parallel.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/simd/masked_load.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// The elements that some position reads of an axis.
struct PlaneAxis {
  int64_t first, size;  // relative to the image

  explicit PlaneAxis(const ConvolutionAxis& a) {
    const int64_t last = a.first + (a.taps - 1) * a.tap_step;
    first = std::min(a.first, last);
    size = a.out + std::max(a.first, last) - first;
  }
};

template <class T>
class Planes {
 public:
  static constexpr int W = kLanes<T>;

  explicit Planes(const Convolution& c)
      : c_(c), axis_{PlaneAxis(c.axis[0]), PlaneAxis(c.axis[1]), PlaneAxis(c.axis[2])} {}

  // Steps of one, several taps, and images that may be copied one by one.
  static bool suit(const Convolution& c) {
    constexpr int64_t kMostElements = 1 << 24;
    int64_t taps = 1, elements = c.groups * c.channels;
    for (const ConvolutionAxis& a : c.axis) {
      if (a.step != 1) return false;
      taps *= a.taps;
      // Padding may be wider than memory.
      if (__builtin_mul_overflow(elements, PlaneAxis(a).size, &elements) || elements > kMostElements)
        return false;
    }
    return taps > 1 && c.channels > 0 && c.in.axis[2] == 1;
  }

  // Elements of a plane, with room as rows are written by whole vectors; its positions, with those that are
  // none between rows.
  int64_t size() const { return axis_[0].size * pitch(0) + W; }
  int64_t span() const {
    return (c_.axis[0].out - 1) * pitch(0) + (c_.axis[1].out - 1) * pitch(1) + c_.axis[2].out;
  }
  int64_t pitch(int axis) const { return axis == 2 ? 1 : axis_[axis + 1].size * pitch(axis + 1); }

  // Where a channel's tap reads at the first position.
  int64_t offset(int64_t channel, int64_t t) const {
    const Tap tap(c_, t);
    int64_t result = channel * size();
    for (int d = 0; d < kConvolutionAxes; ++d)
      result += (c_.axis[d].first + tap.t[d] * c_.axis[d].tap_step - axis_[d].first) * pitch(d);
    return result;
  }

  // All channels of some images, one after another.
  void copy(T* planes, int64_t first, int64_t images) const {
    const int64_t channels = c_.groups * c_.channels;
    parallel_for(0, images * channels, (1 << 15) / size() + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = (first + i / channels) * c_.in.batch + i % channels * c_.in.channel;
        copy_plane(planes + i * size(), reinterpret_cast<const T*>(c_.in.data) + from);
      }
    });
  }

 private:
  void copy_plane(T* to, const T* from) const {
    for (int64_t x0 = 0; x0 < axis_[0].size; ++x0) {
      for (int64_t x1 = 0; x1 < axis_[1].size; ++x1, to += axis_[2].size) {
        const int64_t i0 = axis_[0].first + x0, i1 = axis_[1].first + x1;
        const bool inside = i0 >= 0 && i0 < c_.axis[0].in && i1 >= 0 && i1 < c_.axis[1].in;
        const T* row = inside ? from + i0 * c_.in.axis[0] + i1 * c_.in.axis[1] : from;
        copy_row(to, row, inside ? c_.axis[2].in : 0);
      }
    }
    write(reinterpret_cast<char*>(to), Vec<T>{});
  }

  // Ascending: what a vector writes beyond a row is overwritten by the next.
  void copy_row(T* to, const T* from, int64_t n) const {
    for (int64_t x = 0; x < axis_[2].size; x += W) {
      const int64_t i = axis_[2].first + x;
      const int lo = static_cast<int>(std::clamp<int64_t>(-i, 0, W)),
                hi = static_cast<int>(std::clamp<int64_t>(n - i, 0, W));
      write(reinterpret_cast<char*>(to + x), load_lanes<T>(lo < hi ? from + i + lo : from, 1, lo, hi));
    }
  }

  const Convolution& c_;
  PlaneAxis axis_[kConvolutionAxes];
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

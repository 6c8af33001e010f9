// The rows of an input's last axis as the taps of a direct convolution read them: with zeros where a tap
// reads outside, and apart by phase where the step is not 1, so that consecutive positions lie side by side.
#pragma once

#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// A tap of the last axis that meets the input, and where it reads for position 0 of a row.
struct RowTap {
  int64_t tap, offset;
};

// A thread's copies of the rows that the taps of one output row meet, kept for the next output rows.
template <class T>
class InputRows {
 public:
  // slack: elements behind a row that may be read, and are zero.
  InputRows(const ConvolutionGeometry& g, int64_t slack)
      : c_(g.c),
        slots_{slots(c_.axis[0]), slots(c_.axis[1])},
        taps_(meeting_taps(g)),
        length_(row_length(slack)),
        rows_((c_.channels * slots_[0] * slots_[1] + 1) * size()),
        tags_(static_cast<size_t>(c_.channels * slots_[0] * slots_[1])) {
    std::memset(rows_.data(), 0, static_cast<size_t>(size()) * sizeof(T));
  }

  const std::vector<RowTap>& taps() const { return taps_; }

  // Forgets the rows of another plane.
  void begin_plane(const T* const* channels) {
    planes_ = channels;
    std::fill(tags_.begin(), tags_.end(), -1);
  }

  // The row that stands at i0, i1 of a channel; of zeros if either is outside.
  const T* row(int64_t channel, int64_t i0, int64_t i1) {
    if (i0 < 0 || i1 < 0) return rows_.data();
    const int64_t slot = (channel * slots_[0] + i0 % slots_[0]) * slots_[1] + i1 % slots_[1];
    const int64_t tag = i0 * c_.axis[1].in + i1;
    T* to = rows_.data() + (slot + 1) * size();
    if (tags_[static_cast<size_t>(slot)] != tag) {
      copy(planes_[channel] + i0 * c_.in.axis[0] + i1 * c_.in.axis[1], to);
      tags_[static_cast<size_t>(slot)] = tag;
    }
    return to;
  }

 private:
  // Rows kept along an axis: as many as the taps of one position span, or as there are.
  static int64_t slots(const ConvolutionAxis& a) {
    return std::clamp<int64_t>((a.taps - 1) * std::abs(a.tap_step) + 1, 1, std::max<int64_t>(a.in, 1));
  }
  std::vector<RowTap> meeting_taps(const ConvolutionGeometry& g) {
    const ConvolutionAxis& a = c_.axis[2];
    std::vector<RowTap> taps;
    lowest_ = std::numeric_limits<int64_t>::max();
    for (int64_t t = 0; t < a.taps; ++t) {
      if (g.row(t).begin >= g.row(t).end) continue;
      taps.push_back({t, a.first + t * a.tap_step});
      lowest_ = std::min(lowest_, taps.back().offset);
    }
    return taps;
  }
  // Makes offsets of the taps' places, which are apart by less than the outputs and the input.
  int64_t row_length(int64_t slack) {
    const ConvolutionAxis& a = c_.axis[2];
    int64_t furthest = 0;
    for (const RowTap& tap : taps_) furthest = std::max(furthest, (tap.offset - lowest_) / a.step);
    const int64_t length = a.out + furthest + slack;
    for (RowTap& tap : taps_) {
      const int64_t at = tap.offset - lowest_;
      tap.offset = phase_index(at % a.step) * length + at / a.step;
    }
    return length;
  }

  // The number of a phase among those that a tap reads.
  int64_t phase_index(int64_t phase) {
    const auto at = std::ranges::find(phases_, phase);
    const int64_t index = at - phases_.begin();
    if (at == phases_.end()) phases_.push_back(phase);
    return index;
  }
  int64_t size() const { return std::max<int64_t>(1, std::ssize(phases_)) * length_; }

  void copy(const T* from, T* to) const {
    const ConvolutionAxis& a = c_.axis[2];
    for (int64_t phase : phases_) {
      const int64_t at = lowest_ + phase;  // of element 0
      const int64_t begin = std::min(length_, at < 0 ? (-at + a.step - 1) / a.step : 0);
      const int64_t end = at >= a.in ? begin : std::clamp((a.in - 1 - at) / a.step + 1, begin, length_);
      const int64_t stride = a.step * c_.in.axis[2];
      const T* first = from + (at + begin * a.step) * c_.in.axis[2];
      std::fill(to, to + begin, T(0));
      if (stride == 1)
        std::memcpy(to + begin, first, static_cast<size_t>(end - begin) * sizeof(T));
      else
        for (int64_t i = begin; i < end; ++i) to[i] = first[(i - begin) * stride];
      std::fill(to + end, to + length_, T(0));
      to += length_;
    }
  }

  const Convolution& c_;
  int64_t slots_[2];
  int64_t lowest_ = 0;  // the input that element 0 of a row is
  std::vector<int64_t> phases_;
  std::vector<RowTap> taps_;
  int64_t length_;
  Workspace<T> rows_;  // first the row of zeros
  std::vector<int64_t> tags_;
  const T* const* planes_ = nullptr;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

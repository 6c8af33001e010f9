// Convolution geometry: the input index that a tap reads at an output position, and for which positions it
// reads inside.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/simd/isa.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// Positions in a row, [begin, end), that a tap of the last axis meets with an element.
struct TapRange {
  int64_t begin, end;
};

class ConvolutionGeometry {
 public:
  explicit ConvolutionGeometry(const Convolution& c) : c(c) {
    const ConvolutionAxis& a = c.axis[2];
    for (int64_t t = 0; t < a.taps; ++t) {
      const int64_t at = a.first + t * a.tap_step;
      const int64_t begin = at < 0 ? -at / a.step + (-at % a.step != 0) : 0;
      const int64_t end = at >= a.in ? 0 : std::min(a.out, (a.in - 1 - at) / a.step + 1);
      row_.push_back({std::min(begin, end), end});
    }
  }

  const Convolution& c;

  int64_t taps() const { return c.axis[0].taps * c.axis[1].taps * c.axis[2].taps; }
  int64_t positions() const { return c.axis[0].out * c.axis[1].out * c.axis[2].out; }
  TapRange row(int64_t tap) const { return row_[static_cast<size_t>(tap)]; }

  // Where tap t of an axis reads at position q; -1 if outside.
  int64_t read(int axis, int64_t q, int64_t t) const {
    const ConvolutionAxis& a = c.axis[axis];
    const int64_t i = q * a.step + a.first + t * a.tap_step;
    return i >= 0 && i < a.in ? i : -1;
  }

 private:
  std::vector<TapRange> row_;
};

struct Tap {
  int64_t t[kConvolutionAxes];

  Tap(const Convolution& c, int64_t tap) {
    for (int d = kConvolutionAxes - 1; d >= 0; --d) {
      t[d] = tap % c.axis[d].taps;
      tap /= c.axis[d].taps;
    }
  }
};

// Consecutive positions of one row of one image.
struct PositionRun {
  int64_t n, q[kConvolutionAxes];
  int at, count;  // where it stands in its panel
};

// The runs of positions [begin, end), counted over images.
inline int position_runs(const Convolution& c, int64_t begin, int64_t end, PositionRun* runs) {
  const int64_t o0 = c.axis[0].out, o1 = c.axis[1].out, o2 = c.axis[2].out;
  int n = 0;
  PositionRun run{begin / (o0 * o1 * o2), {begin / (o1 * o2) % o0, begin / o2 % o1, begin % o2}, 0, 0};
  for (int64_t p = begin; p < end; p += run.count) {
    run.at = static_cast<int>(p - begin);
    run.count = static_cast<int>(std::min(end - p, o2 - run.q[2]));
    runs[n++] = run;
    run.q[2] = 0;
    if (++run.q[1] == o1) run.q[1] = 0, ++run.q[0];
    if (run.q[0] == o0) run.q[0] = 0, ++run.n;
  }
  return n;
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

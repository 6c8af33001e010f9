// Pooling windows along one axis, told by a few numbers instead of a list of taps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tl::cpu {

// Without a kernel they are adaptive: between o * inputs / outputs and (o + 1) * inputs / outputs, rounded
// up.
struct AxisWindows {
  int64_t inputs, outputs;
  int64_t kernel = 0, stride = 1, padding = 0, dilation = 1;

  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  int64_t start(int64_t o) const { return o * stride - padding; }  // of a kernel; may lie before the axis
  // The elements of an output's window are first(o), first(o) + dilation, ... below end(o).
  int64_t first(int64_t o) const {
    if (kernel == 0) return o * inputs / outputs;
    const int64_t begin = start(o);
    return begin < 0 ? begin + (-begin + dilation - 1) / dilation * dilation : begin;
  }
  int64_t end(int64_t o) const {
    return kernel == 0 ? ((o + 1) * inputs + outputs - 1) / outputs : std::min(inputs, start(o) + reach());
  }
  // How many elements a mean divides by: those inside, and with `padded` those of the padding.
  int64_t counted(int64_t o, bool padded) const {
    if (kernel == 0) return end(o) - first(o);
    const int64_t begin = start(o), last = std::min(begin + kernel, inputs + padding);
    return padded ? last - begin : std::min(last, inputs) - std::max<int64_t>(begin, 0);
  }
};

}  // namespace tl::cpu

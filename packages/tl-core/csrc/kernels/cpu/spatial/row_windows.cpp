// isa: all
// Pooling along dense rows: a lane an output where windows lie regularly, along the window where it is long.
#include "kernels/cpu/spatial/row_windows.h"

#include "base/parallel.h"
#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"
#include "kernels/cpu/spatial/row_gather.h"
#include "kernels/cpu/spatial/running_maximum.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// The elements of neighbouring outputs, `step` apart.
template <class T>
struct Step {
  int64_t step;
  Mask<Vec<T>> lanes = iota<Mask<Vec<T>>>() * static_cast<Lane<Mask<Vec<T>>>>(step);

  TL_INLINE Vec<T> operator()(const T* from, int n) const {
    const auto* p = reinterpret_cast<const char*>(from);
    if (step == 1) return n == kLanes<T> ? load<T>(p) : load_partial<T>(p, n);
    if (n == kLanes<T> && TL_ISA_LEVEL >= 4 && step <= INT32_MAX / kLanes<T>) return gather(from, lanes);
    return load_strided<T>(p, step * static_cast<int64_t>(sizeof(T)), n);
  }
};

// Runs a reduction over the windows of all rows: `across` for outputs whose windows are regular and lie
// inside, `along` for long windows, `single` for the others.
template <class Reduction>
void over_rows(const AxisWindows& w, int64_t rows, const Reduction& reduction) {
  constexpr int64_t kWork = 32768;
  const int64_t taps = 1 + (w.kernel ? w.kernel : w.inputs / w.outputs);
  int64_t low = w.outputs, high = w.outputs;  // the windows between them are regular
  if (w.kernel && (w.dilation > 1 || w.kernel < kLongWindow) && w.inputs + w.padding >= w.reach()) {
    low = std::min((w.padding + w.stride - 1) / w.stride, w.outputs);
    high = std::clamp((w.inputs + w.padding - w.reach()) / w.stride + 1, low, w.outputs);
  }
  const auto irregular = [&](int64_t row, int64_t o, int64_t end) {
    for (; o < end; ++o)
      if (w.dilation == 1 && w.end(o) - w.first(o) >= kLongWindow)
        reduction.along(row, o);
      else
        reduction.single(row, o);
  };
  parallel_for(0, rows * w.outputs, 1 + kWork / taps, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin, n; i < end; i += n) {
      const int64_t row = i / w.outputs, o = i % w.outputs;
      n = std::min(w.outputs - o, end - i);
      const int64_t first = std::clamp(low, o, o + n), last = std::clamp(high, first, o + n);
      irregular(row, o, first);
      for (int64_t k = first; k < last; k += Reduction::W)
        reduction.across(row, k, static_cast<int>(std::min<int64_t>(Reduction::W, last - k)));
      irregular(row, last, o + n);
    }
  });
}

template <bool indexed, class T>
struct RowMaxima {
  static constexpr int W = kLanes<T>;
  using V = Vec<T>;
  using M = Mask<V>;
  AxisWindows windows;
  T* out;
  int64_t* indices;
  const T* in;
  Step<T> step{windows.stride};

  void put(int64_t row, int64_t o, T value, int64_t at) const {
    out[row * windows.outputs + o] = value;
    if constexpr (indexed) indices[row * windows.outputs + o] = at;
  }
  void single(int64_t row, int64_t o) const {
    const T* from = in + row * windows.inputs;
    const int64_t end = windows.end(o);
    T best = lowest<T>;
    int64_t at = -1;
    for (int64_t i = windows.first(o); i < end; i += windows.dilation)
      if (at < 0 || from[i] > best || from[i] != from[i]) best = from[i], at = i;
    put(row, o, best, at);
  }
  void across(int64_t row, int64_t o, int lanes) const {
    const int64_t start = windows.start(o), target = row * windows.outputs + o;
    const T* from = in + row * windows.inputs + start;
    const M position = step.lanes + static_cast<Lane<M>>(start);
    RunningMaximum<indexed, T> best;
    best.start(step(from, lanes), position);
    for (int64_t d = windows.dilation; d < windows.reach(); d += windows.dilation)
      best.meet(step(from + d, lanes), position + static_cast<Lane<M>>(d));
    store_some<T>(out + target, lanes, best.value);
    if constexpr (indexed)
      for (int l = 0; l < lanes; ++l) indices[target + l] = best.at[l];
  }
  // Of the lanes' maxima, in the order in which one lane would have met them.
  void along(int64_t row, int64_t o) const {
    const T* from = in + row * windows.inputs;
    const int64_t end = windows.end(o);
    int64_t i = windows.first(o);
    RunningMaximum<true, T> best;
    best.start(load_some<T>(from + i, W), iota<M>() + static_cast<Lane<M>>(i));
    for (i += W; i < end; i += W) {
      const M position = iota<M>() + static_cast<Lane<M>>(i), used = position < static_cast<Lane<M>>(end);
      const V x = load_some<T>(from + i, end - i);
      best.meet(select<V>(used, x, best.value), used ? position : best.at);
    }
    T value = best.value[0];
    int64_t at = best.at[0];
    for (int l = 1; l < W; ++l) {
      const T x = best.value[l];
      const bool later = best.at[l] > at;
      if (x != x ? value == value || later : x > value || (x == value && !later)) value = x, at = best.at[l];
    }
    put(row, o, value, at);
  }
};

template <class T>
struct RowMeans {
  static constexpr int W = kLanes<T>;
  using V = Vec<T>;
  WindowMeans means;
  T* out;
  const T* in;
  AxisWindows windows = means.windows;
  Step<T> step{windows.stride};

  T scale(int64_t o) const {
    const int64_t n = means.divisor ? means.divisor : windows.counted(o, means.padded);
    return static_cast<T>(1.0 / static_cast<double>(n));
  }
  void single(int64_t row, int64_t o) const {
    const T* from = in + row * windows.inputs;
    const int64_t end = windows.end(o);
    T sum = 0;
    for (int64_t i = windows.first(o); i < end; i += windows.dilation) sum += from[i];
    out[row * windows.outputs + o] = sum * scale(o);
  }
  void across(int64_t row, int64_t o, int lanes) const {
    const T* from = in + row * windows.inputs + windows.start(o);
    V sum{};
    for (int64_t d = 0; d < windows.kernel; ++d) sum += step(from + d, lanes);
    store_some<T>(out + row * windows.outputs + o, lanes, sum * broadcast<V>(scale(o)));
  }
  void along(int64_t row, int64_t o) const {
    constexpr int kSums = 4;
    const T* from = in + row * windows.inputs;
    const int64_t end = windows.end(o);
    int64_t i = windows.first(o);
    V sums[kSums] = {};
    for (; i + kSums * W <= end; i += kSums * W)
      for (int s = 0; s < kSums; ++s) sums[s] += load_some<T>(from + i + s * W, W);
    for (int s = 0; i < end; i += W, ++s) sums[s] += load_some<T>(from + i, end - i);
    const T sum = horizontal_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
    out[row * windows.outputs + o] = sum * scale(o);
  }
};

template <bool indexed, class T>
void maxima(const AxisWindows& windows, int64_t rows, char* out, int64_t* indices, const char* in) {
  over_rows(
      windows, rows,
      RowMaxima<indexed, T>{windows, reinterpret_cast<T*>(out), indices, reinterpret_cast<const T*>(in)});
}
template <class T>
void means(const WindowMeans& means, int64_t rows, char* out, const char* in) {
  over_rows(means.windows, rows,
            RowMeans<T>{means, reinterpret_cast<T*>(out), reinterpret_cast<const T*>(in)});
}

}  // namespace

using RowMaximaKernel = void (*)(const AxisWindows&, int64_t, char*, int64_t*, const char*);
using RowMeansKernel = void (*)(const WindowMeans&, int64_t, char*, const char*);
extern const RowMaximaKernel row_maxima[2][2] = {{&maxima<false, float>, &maxima<false, double>},
                                                 {&maxima<true, float>, &maxima<true, double>}};
extern const RowMeansKernel row_means[2] = {&means<float>, &means<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using RowMaximaKernel = void (*)(const AxisWindows&, int64_t, char*, int64_t*, const char*);
          extern const RowMaximaKernel row_maxima[2][2];
          using RowMeansKernel = void (*)(const WindowMeans&, int64_t, char*, const char*);
          extern const RowMeansKernel row_means[2])

namespace tl::cpu {

void max_of_rows(DType dtype, const AxisWindows& windows, int64_t rows, char* out, int64_t* indices,
                 const char* in) {
  TL_SELECT(row_maxima)[indices != nullptr][dtype == DType::Float64](windows, rows, out, indices, in);
}
void mean_of_rows(DType dtype, const WindowMeans& means, int64_t rows, char* out, const char* in) {
  TL_SELECT(row_means)[dtype == DType::Float64](means, rows, out, in);
}

}  // namespace tl::cpu
#endif

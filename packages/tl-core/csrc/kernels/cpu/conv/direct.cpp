// isa: all
// Direct convolution, a row of outputs at a time, for groups too small for GEMM such as depthwise
// convolution.
#include "base/parallel.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/kernels.h"
#include "kernels/cpu/simd/masked_load.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kDirectGrain = 1 << 16;  // multiplications that are worth a thread's while

template <class T>
class Direct {
 public:
  static constexpr int W = kLanes<T>;
  using V = Vec<T>;

  explicit Direct(const Convolution& c) : g_(c), c_(c) {}

  void gather() const {
    const int64_t planes = c_.batch * c_.groups * c_.rows, work = g_.positions() * g_.taps() * c_.channels;
    parallel_for(0, planes, kDirectGrain / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) plane(i / (c_.groups * c_.rows), i % (c_.groups * c_.rows));
    });
  }

  void weight() const {
    const int64_t kernels = c_.groups * c_.rows * c_.channels;
    const int64_t work = c_.batch * g_.positions() * g_.taps();
    parallel_for(0, kernels, kDirectGrain / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t t = 0; t < g_.taps(); ++t) one_weight(i / c_.channels, i % c_.channels, t);
      }
    });
  }

 private:
  const T* input(int64_t n, int64_t channel) const {
    return reinterpret_cast<const T*>(c_.in.data) + n * c_.in.batch + channel * c_.in.channel;
  }
  T* output(int64_t n, int64_t row) const {
    return reinterpret_cast<T*>(c_.out.data) + n * c_.out.batch + row * c_.out.channel;
  }
  T* weights(int64_t row, int64_t channel) const {
    return reinterpret_cast<T*>(c_.weight.data) + row / c_.rows * c_.weight.group +
           row % c_.rows * c_.weight.row + channel * c_.weight.channel;
  }
  int64_t weight_offset(const Tap& tap) const {
    return tap.t[0] * c_.weight.tap[0] + tap.t[1] * c_.weight.tap[1] + tap.t[2] * c_.weight.tap[2];
  }

  void plane(int64_t n, int64_t row) const {
    const int64_t stride = c_.out.axis[2];
    T* out = output(n, row);
    for (int64_t q0 = 0; q0 < c_.axis[0].out; ++q0) {
      for (int64_t q1 = 0; q1 < c_.axis[1].out; ++q1) {
        T* to = out + q0 * c_.out.axis[0] + q1 * c_.out.axis[1];
        for (int64_t q2 = 0; q2 < c_.axis[2].out; q2 += W) {
          const int count = static_cast<int>(std::min<int64_t>(W, c_.axis[2].out - q2));
          const V value = some(n, row, q0, q1, q2, count);
          char* at = reinterpret_cast<char*>(to + q2 * stride);
          if (stride == 1)
            store_partial<T>(at, count, value);
          else
            store_strided<T>(at, stride * static_cast<int64_t>(sizeof(T)), count, value);
        }
      }
    }
  }

  V some(int64_t n, int64_t row, int64_t q0, int64_t q1, int64_t q2, int count) const {
    V sum = broadcast<V>(c_.bias ? reinterpret_cast<const T*>(c_.bias)[row * c_.bias_stride] : T(0));
    for (int64_t k = 0; k < c_.channels; ++k) {
      const T* in = input(n, row / c_.rows * c_.channels + k);
      const T* w = weights(row, k);
      for (int64_t t0 = 0; t0 < c_.axis[0].taps; ++t0) {
        const int64_t i0 = g_.read(0, q0, t0);
        if (i0 < 0) continue;
        for (int64_t t1 = 0; t1 < c_.axis[1].taps; ++t1) {
          const int64_t i1 = g_.read(1, q1, t1);
          if (i1 < 0) continue;
          sum = add_row(sum, in + i0 * c_.in.axis[0] + i1 * c_.in.axis[1],
                        w + t0 * c_.weight.tap[0] + t1 * c_.weight.tap[1], q2, count);
        }
      }
    }
    return sum;
  }

  // The taps of the last axis.
  V add_row(V sum, const T* in, const T* w, int64_t q2, int count) const {
    const ConvolutionAxis& a = c_.axis[2];
    for (int64_t t = 0; t < a.taps; ++t) {
      const V factor = broadcast<V>(w[t * c_.weight.tap[2]]);
      sum = fma(factor, lanes(in, q2, t, count), sum);
    }
    return sum;
  }

  V lanes(const T* in, int64_t q2, int64_t tap, int count) const {
    const ConvolutionAxis& a = c_.axis[2];
    const TapRange inside = g_.row(tap);
    const int lo = static_cast<int>(std::clamp<int64_t>(inside.begin - q2, 0, count));
    const int hi = static_cast<int>(std::clamp<int64_t>(inside.end - q2, 0, count));
    if (lo >= hi) return V{};  // where a tap far outside would lie is no address
    return load_lanes<T>(in + ((q2 + lo) * a.step + a.first + tap * a.tap_step) * c_.in.axis[2],
                         a.step * c_.in.axis[2], lo, hi);
  }

  // Images are summed in lanes, the images' sums in double.
  void one_weight(int64_t row, int64_t channel, int64_t t) const {
    const Tap tap(c_, t);
    double total = 0;
    for (int64_t n = 0; n < c_.batch; ++n) {
      const V sums = image_sums(n, row, row / c_.rows * c_.channels + channel, tap);
      for (int i = 0; i < W; ++i) total += static_cast<double>(sums[i]);
    }
    weights(row, channel)[weight_offset(tap)] = static_cast<T>(total);
  }

  V image_sums(int64_t n, int64_t row, int64_t channel, const Tap& tap) const {
    V sums = {};
    const T* in = input(n, channel);
    const T* out = output(n, row);
    for (int64_t q0 = 0; q0 < c_.axis[0].out; ++q0) {
      const int64_t i0 = g_.read(0, q0, tap.t[0]);
      if (i0 < 0) continue;
      for (int64_t q1 = 0; q1 < c_.axis[1].out; ++q1) {
        const int64_t i1 = g_.read(1, q1, tap.t[1]);
        if (i1 < 0) continue;
        const T* values = in + i0 * c_.in.axis[0] + i1 * c_.in.axis[1];
        const T* gradients = out + q0 * c_.out.axis[0] + q1 * c_.out.axis[1];
        for (int64_t q2 = 0; q2 < c_.axis[2].out; q2 += W) {
          const int count = static_cast<int>(std::min<int64_t>(W, c_.axis[2].out - q2));
          const V g = load_lanes<T>(gradients + q2 * c_.out.axis[2], c_.out.axis[2], 0, count);
          sums = fma(g, lanes(values, q2, tap.t[2], count), sums);
        }
      }
    }
    return sums;
  }

  ConvolutionGeometry g_;
  const Convolution& c_;
};

template <class T>
void direct_gather(const Convolution& c) {
  Direct<T>(c).gather();
}
template <class T>
void direct_weight(const Convolution& c) {
  Direct<T>(c).weight();
}

}  // namespace

extern const ConvolutionKernels direct_convolutions[2] = {{&direct_gather<float>, &direct_weight<float>},
                                                          {&direct_gather<double>, &direct_weight<double>}};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

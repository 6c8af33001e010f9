// isa: all
// Direct convolution, a row of outputs at a time, for groups too small for GEMM such as depthwise
// convolution.
#include "base/parallel.h"
#include "kernels/cpu/conv/input_rows.h"
#include "kernels/cpu/conv/kernels.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kDirectGrain = 1 << 16;  // multiplications that are worth a thread's while
constexpr int kVectors = 4;                // of one row of outputs that are summed at once

#if TL_ISA_LEVEL >= 4
// Every other element of memory.
TL_INLINE void store_even(float* to, int n, VecF v) {
  const __m512i low = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  const uint32_t lanes = _pdep_u32((1u << n) - 1, 0x55555555);
  const __m512 x = bitcast<__m512>(v);
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(lanes), _mm512_permutexvar_ps(low, x));
  _mm512_mask_storeu_ps(to + 16, static_cast<__mmask16>(lanes >> 16),
                        _mm512_permutexvar_ps(_mm512_add_epi32(low, _mm512_set1_epi32(8)), x));
}
TL_INLINE void store_even(double* to, int n, VecD v) {
  const __m512i low = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
  const uint32_t lanes = _pdep_u32((1u << n) - 1, 0x5555);
  const __m512d x = bitcast<__m512d>(v);
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(lanes), _mm512_permutexvar_pd(low, x));
  _mm512_mask_storeu_pd(to + 8, static_cast<__mmask8>(lanes >> 8),
                        _mm512_permutexvar_pd(_mm512_add_epi64(low, _mm512_set1_epi64(4)), x));
}
#else
template <class T, class V>
TL_INLINE void store_even(T* to, int n, V v) {
  store_strided<T>(reinterpret_cast<char*>(to), 2 * static_cast<int64_t>(sizeof(T)), n, v);
}
#endif

template <class T>
class Direct {
 public:
  static constexpr int W = kLanes<T>;
  using V = Vec<T>;

  explicit Direct(const Convolution& c) : g_(c), c_(c) {}

  void gather() const {
    const int64_t planes = c_.batch * c_.groups * c_.rows, work = g_.positions() * g_.taps() * c_.channels;
    parallel_for(0, planes, kDirectGrain / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      Window window(*this);
      for (int64_t i = begin; i < end; ++i)
        plane(window, i / (c_.groups * c_.rows), i % (c_.groups * c_.rows));
    });
  }

  void weight() const {
    const int64_t rows = c_.groups * c_.rows, work = c_.batch * g_.positions() * g_.taps() * c_.channels;
    parallel_for(0, rows, kDirectGrain / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      Window window(*this);
      for (int64_t row = begin; row < end; ++row) weights_of_row(window, row);
    });
  }

 private:
  // The inputs of one row of outputs: for each channel and tap of the first two axes, a row.
  struct Window {
    explicit Window(const Direct& d)
        : rows(d.g_, kVectors * W),
          channels(static_cast<size_t>(d.c_.channels)),
          inputs(static_cast<size_t>(d.c_.channels * d.c_.axis[0].taps * d.c_.axis[1].taps)) {}
    InputRows<T> rows;
    std::vector<const T*> channels, inputs;
  };

  const T* input(int64_t n, int64_t channel) const {
    return reinterpret_cast<const T*>(c_.in.data) + n * c_.in.batch + channel * c_.in.channel;
  }
  T* output(int64_t n, int64_t row, int64_t q0, int64_t q1) const {
    return reinterpret_cast<T*>(c_.out.data) + n * c_.out.batch + row * c_.out.channel + q0 * c_.out.axis[0] +
           q1 * c_.out.axis[1];
  }
  // Calls f with each weight of a row, in the order of a window's inputs and of the taps.
  template <class F>
  void each_weight(const std::vector<RowTap>& taps, int64_t row, F f) const {
    const ConvolutionWeight& w = c_.weight;
    T* const first = reinterpret_cast<T*>(w.data) + row / c_.rows * w.group + row % c_.rows * w.row;
    for (int64_t k = 0; k < c_.channels; ++k)
      for (int64_t t0 = 0; t0 < c_.axis[0].taps; ++t0)
        for (int64_t t1 = 0; t1 < c_.axis[1].taps; ++t1)
          for (const RowTap& tap : taps)
            f(first[k * w.channel + t0 * w.tap[0] + t1 * w.tap[1] + tap.tap * w.tap[2]]);
  }

  void begin_plane(Window& window, int64_t n, int64_t row) const {
    for (int64_t k = 0; k < c_.channels; ++k)
      window.channels[static_cast<size_t>(k)] = input(n, row / c_.rows * c_.channels + k);
    window.rows.begin_plane(window.channels.data());
  }
  void move_to(Window& window, int64_t q0, int64_t q1) const {
    const T** to = window.inputs.data();
    for (int64_t k = 0; k < c_.channels; ++k)
      for (int64_t t0 = 0; t0 < c_.axis[0].taps; ++t0)
        for (int64_t t1 = 0; t1 < c_.axis[1].taps; ++t1)
          *to++ = window.rows.row(k, g_.read(0, q0, t0), g_.read(1, q1, t1));
  }
  template <class F>
  void each_row(F f) const {
    for (int64_t q0 = 0; q0 < c_.axis[0].out; ++q0)
      for (int64_t q1 = 0; q1 < c_.axis[1].out; ++q1) f(q0, q1);
  }

  // ---- forward
  void plane(Window& window, int64_t n, int64_t row) const {
    std::vector<T> weights;
    each_weight(window.rows.taps(), row, [&](T& weight) { weights.push_back(weight); });
    const T bias = c_.bias ? reinterpret_cast<const T*>(c_.bias)[row * c_.bias_stride] : T(0);
    begin_plane(window, n, row);
    each_row([&](int64_t q0, int64_t q1) {
      move_to(window, q0, q1);
      T* out = output(n, row, q0, q1);
      for (int64_t q2 = 0; q2 < c_.axis[2].out; q2 += kVectors * W) {
        switch (std::min<int64_t>(kVectors * W, c_.axis[2].out - q2 + W - 1) / W) {
          case 1:
            outputs<1>(window, weights.data(), bias, out, q2);
            break;
          case 2:
            outputs<2>(window, weights.data(), bias, out, q2);
            break;
          case 3:
            outputs<3>(window, weights.data(), bias, out, q2);
            break;
          default:
            outputs<kVectors>(window, weights.data(), bias, out, q2);
        }
      }
    });
  }

  template <int vectors>
  void outputs(const Window& window, const T* weights, T bias, T* out, int64_t q2) const {
    V sums[vectors];
    for (V& sum : sums) sum = broadcast<V>(bias);
    for (const T* row : window.inputs) {
      for (const RowTap& tap : window.rows.taps()) {
        const V factor = broadcast<V>(*weights++);
        const char* in = reinterpret_cast<const char*>(row + tap.offset + q2);
        for (int u = 0; u < vectors; ++u) sums[u] = fma(factor, read<V>(in + u * sizeof(V)), sums[u]);
      }
    }
    for (int u = 0; u < vectors; ++u) store_outputs(out, q2 + u * W, sums[u]);
  }

  void store_outputs(T* out, int64_t q2, V value) const {
    const int count = static_cast<int>(std::min<int64_t>(W, c_.axis[2].out - q2));
    const int64_t stride = c_.out.axis[2];
    char* at = reinterpret_cast<char*>(out + q2 * stride);
    if (stride == 1)
      store_partial<T>(at, count, value);
    else if (stride == 2)  // of a transposed convolution
      store_even(reinterpret_cast<T*>(at), count, value);
    else
      store_strided<T>(at, stride * static_cast<int64_t>(sizeof(T)), count, value);
  }

  // ---- weight gradient
  // Images are summed in lanes, the images' sums in double.
  void weights_of_row(Window& window, int64_t row) const {
    const size_t count = window.inputs.size() * window.rows.taps().size();
    std::vector<double> totals(count);
    const Workspace<T> lanes(static_cast<int64_t>(count) * W);
    for (int64_t n = 0; n < c_.batch; ++n) {
      std::fill(lanes.data(), lanes.data() + count * W, T(0));
      begin_plane(window, n, row);
      each_row([&](int64_t q0, int64_t q1) {
        move_to(window, q0, q1);
        add_row(window, output(n, row, q0, q1), lanes.data());
      });
      for (size_t i = 0; i < count; ++i)
        for (size_t lane = 0; lane < W; ++lane) totals[i] += static_cast<double>(lanes.data()[i * W + lane]);
    }
    if (window.rows.taps().size() < static_cast<size_t>(c_.axis[2].taps))
      each_weight(all_taps(), row, [](T& weight) { weight = T(0); });
    const double* total = totals.data();
    each_weight(window.rows.taps(), row, [&](T& weight) { weight = static_cast<T>(*total++); });
  }

  std::vector<RowTap> all_taps() const {
    std::vector<RowTap> taps;
    for (int64_t t = 0; t < c_.axis[2].taps; ++t) taps.push_back({t, 0});
    return taps;
  }

  void add_row(const Window& window, const T* gradients, T* lanes) const {
    const int64_t stride = c_.out.axis[2] * static_cast<int64_t>(sizeof(T));
    for (int64_t q2 = 0; q2 < c_.axis[2].out; q2 += W) {
      const int count = static_cast<int>(std::min<int64_t>(W, c_.axis[2].out - q2));
      const char* from = reinterpret_cast<const char*>(gradients + q2 * c_.out.axis[2]);
      const V g = stride == sizeof(T) ? load_partial<T>(from, count) : load_strided<T>(from, stride, count);
      char* sums = reinterpret_cast<char*>(lanes);
      for (const T* row : window.inputs) {
        for (const RowTap& tap : window.rows.taps()) {
          const char* in = reinterpret_cast<const char*>(row + tap.offset + q2);
          const V values = count == W ? read<V>(in) : load_partial<T>(in, count);
          write<V>(sums, fma(g, values, read<V>(sums)));
          sums += sizeof(V);
        }
      }
    }
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

// isa: all
// Window functions (Harris, On the use of windows for harmonic analysis with the discrete Fourier transform,
// 1978). Symmetric ones are computed to the middle and mirrored, so that they are symmetric to the bit.
#include "kernels/cpu/fft/window.h"

#include <algorithm>
#include <numbers>

#include "base/parallel.h"
#include "kernels/cpu/elementwise/bessel_vectors.h"
#include "kernels/cpu/elementwise/circle.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {
constexpr int64_t kChunk = 4096, kBlock = 256;

// The sine of count / of quarter turns, both of them whole and below 2^53. Whole quarters are taken off
// before anything is rounded.
TL_INLINE VecD sine_of_quarters(VecD count, double of, double more_quarters) {
  const VecD quarters = round_even(count / of), left = (count - quarters * of) / of;
  return sine_after(quarters + more_quarters, circle_point(left * (std::numbers::pi / 2)));
}

// a_0 - a_1 cos(x) + a_2 cos(2 x) - ..., where x goes from 0 to 2 pi.
TL_INLINE VecD cosines(const Window& w, VecD i) {
  VecD sum{};
  for (size_t k = 0; k < w.parameters.size(); ++k) {
    const VecD cosine =
        sine_of_quarters(i * (4.0 * static_cast<double>(k)), static_cast<double>(w.period), 1);
    sum += cosine * (k % 2 ? -w.parameters[k] : w.parameters[k]);
  }
  return sum;
}

// I_0(beta sqrt(1 - x^2)) / I_0(beta) for x from -1 to 1, scaled so that nothing overflows (Kaiser, 1974).
TL_INLINE VecD kaiser(const Window& w, VecD i) {
  const double beta = w.parameters[0] < 0 ? -w.parameters[0] : w.parameters[0];
  const auto period = static_cast<double>(w.period);
  const VecD inside = 2.0 * sqrt(i * (period - i)) / period;
  return bessel::scaled_i<0>(beta * inside) / bessel::scaled_i<0>(VecD{} + beta) * exp(beta * (inside - 1.0));
}

TL_INLINE VecD gaussian(const Window& w, VecD i) {
  const VecD x = (i - static_cast<double>(w.period) / 2) / w.parameters[0];
  return exp(-0.5 * x * x);
}

TL_INLINE VecD exponential(const Window& w, VecD i) {
  return exp(-abs(i - w.parameters[1]) / w.parameters[0]);
}

TL_INLINE VecD triangle(const Window& w, VecD i) {
  const auto period = static_cast<double>(w.period);
  return 2.0 * minimum(i, period - i) / period;
}

TL_INLINE VecD sine(const Window& w, VecD i) {
  return sine_of_quarters(i + i + 1.0, static_cast<double>(w.period + 1), 0);
}

using Fill = void (*)(const Window& w, int64_t begin, double* out, int64_t n);

template <VecD (*element)(const Window& w, VecD i)>
void fill(const Window& w, int64_t begin, double* out, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes<double>) {
    const VecD value = element(w, iota<VecD>() + static_cast<double>(begin + i));
    auto* const to = reinterpret_cast<char*>(out + i);
    if (n - i < kLanes<double>)
      store_partial<double>(to, static_cast<int>(n - i), value);
    else
      store<double>(to, value);
  }
}

Fill fill_of(WindowShape shape) {
  switch (shape) {
    case WindowShape::Cosines:
      return fill<cosines>;
    case WindowShape::Triangle:
      return fill<triangle>;
    case WindowShape::Kaiser:
      return fill<kaiser>;
    case WindowShape::Gaussian:
      return fill<gaussian>;
    case WindowShape::Exponential:
      return fill<exponential>;
    default:
      return fill<sine>;
  }
}

template <class T>
void fill_typed(const Window& w, T* out) {
  const Fill fill = fill_of(w.shape);
  const bool mirrored = w.shape != WindowShape::Exponential;
  if (mirrored && w.n == 1) {
    out[0] = 1;
    return;
  }
  const int64_t computed = mirrored ? std::min(w.n, w.period / 2 + 1) : w.n;
  parallel_for(0, computed, kChunk, [&](int64_t begin, int64_t end) {
    double block[kBlock];
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t n = std::min(kBlock, end - i);
      fill(w, i, block, n);
      for (int64_t j = 0; j < n; ++j) out[i + j] = static_cast<T>(block[j]);
    }
  });
  for (int64_t i = computed; i < w.n; ++i) out[i] = out[w.period - i];
}
}  // namespace

void fill_doubles(const Window& w, double* out) { fill_typed(w, out); }
void fill_floats(const Window& w, float* out) { fill_typed(w, out); }

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(void fill_doubles(const Window& w, double* out); void fill_floats(const Window& w, float* out))

namespace tl::cpu {

void fill_window(const Window& w, double* out) { TL_SELECT(fill_doubles)(w, out); }
void fill_window(const Window& w, float* out) { TL_SELECT(fill_floats)(w, out); }

}  // namespace tl::cpu
#endif

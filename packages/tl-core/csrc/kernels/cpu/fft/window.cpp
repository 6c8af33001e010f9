// Window functions (Harris, On the use of windows for harmonic analysis with the discrete Fourier transform,
// 1978). Symmetric ones are computed to the middle and mirrored, so that they are symmetric to the bit.
#include "kernels/cpu/fft/window.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "kernels/cpu/elementwise/bessel_functions.h"

namespace tl::cpu {

namespace {
constexpr double kPi = std::numbers::pi;
constexpr int64_t kChunk = 4096;

// a_0 - a_1 cos(x) + a_2 cos(2 x) - ..., where x goes from 0 to 2 pi. Multiples of angles are reduced before
// they are rounded.
double cosines(const Window& w, int64_t i) {
  double sum = 0;
  for (size_t k = 0; k < w.parameters.size(); ++k) {
    const auto multiple = static_cast<int64_t>(static_cast<unsigned __int128>(k) * static_cast<uint64_t>(i) %
                                               static_cast<uint64_t>(w.period));
    const double a = k % 2 ? -w.parameters[k] : w.parameters[k];
    sum += a * std::cos(2 * kPi * static_cast<double>(multiple) / static_cast<double>(w.period));
  }
  return sum;
}

// I_0(beta sqrt(1 - x^2)) / I_0(beta) for x from -1 to 1, scaled so that nothing overflows (Kaiser, 1974).
double kaiser(const Window& w, int64_t i) {
  const double beta = std::abs(w.parameters[0]), period = static_cast<double>(w.period);
  const double inside = 2 * std::sqrt(static_cast<double>(i) * static_cast<double>(w.period - i)) / period;
  return special::i0e(beta * inside) / special::i0e(beta) * std::exp(beta * (inside - 1));
}

double gaussian(const Window& w, int64_t i) {
  const double x = (static_cast<double>(i) - static_cast<double>(w.period) / 2) / w.parameters[0];
  return std::exp(-0.5 * x * x);
}

double exponential(const Window& w, int64_t i) {
  return std::exp(-std::abs(static_cast<double>(i) - w.parameters[1]) / w.parameters[0]);
}

double triangle(const Window& w, int64_t i) {
  return 2 * static_cast<double>(std::min(i, w.period - i)) / static_cast<double>(w.period);
}

double sine(const Window& w, int64_t i) {
  return std::sin(kPi * (static_cast<double>(i) + 0.5) / static_cast<double>(w.period + 1));
}

using Element = double (*)(const Window& w, int64_t i);

Element element_of(WindowShape shape) {
  switch (shape) {
    case WindowShape::Cosines:
      return cosines;
    case WindowShape::Triangle:
      return triangle;
    case WindowShape::Kaiser:
      return kaiser;
    case WindowShape::Gaussian:
      return gaussian;
    case WindowShape::Exponential:
      return exponential;
    default:
      return sine;
  }
}
}  // namespace

void fill_window(const Window& w, double* out) {
  const Element element = element_of(w.shape);
  const bool mirrored = w.shape != WindowShape::Exponential;
  if (mirrored && w.n == 1) {
    out[0] = 1;
    return;
  }
  const int64_t computed = mirrored ? std::min(w.n, w.period / 2 + 1) : w.n;
  parallel_for(0, computed, kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = element(w, i);
  });
  for (int64_t i = computed; i < w.n; ++i) out[i] = out[w.period - i];
}

}  // namespace tl::cpu

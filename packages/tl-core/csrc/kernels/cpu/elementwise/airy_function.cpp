// Ai of large negative numbers by its asymptotic series. "DLMF" is the NIST Digital Library of Mathematical
// Functions.
#include "kernels/cpu/elementwise/airy_function.h"

#include <cmath>

namespace tl::cpu::special {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Phase {  // 2/3 |x|^(3/2), and what its rounding left
  double value, rest;
};

Phase phase(double x) {
  const double root = std::sqrt(x), root_rest = -std::fma(root, root, -x) / (2 * root);
  const double product = x * root, product_rest = std::fma(x, root, -product) + x * root_rest;
  const double value = 2 * product / 3;
  return {value, (2 * product_rest - std::fma(value, 3, -2 * product)) / 3};
}

}  // namespace

// DLMF 9.7.9
double oscillating_airy_ai(double x) {
  if (!(x < 0) || std::isinf(x)) return 0;
  const double size = -x;
  const Phase z = phase(size);
  double term = 1, even = 1, odd = 0;
  for (int k = 1; k < 40 && std::fabs(term) > 1e-17; ++k) {
    term *= (6.0 * k - 5) * (6.0 * k - 1) / (72.0 * k * z.value);
    double& sum = k % 2 ? odd : even;
    sum += k / 2 % 2 ? -term : term;
  }
  // Sine and cosine of the phase, added and subtracted: pi/4 less, times sqrt(2). Few roundings are left.
  const double s = std::sin(z.value), c = std::cos(z.value);
  const double sum = std::fma(z.rest, c - s, c + s), difference = std::fma(z.rest, c + s, s - c);
  return std::fma(sum, even, difference * odd) / std::sqrt(2 * kPi * std::sqrt(size));
}

}  // namespace tl::cpu::special

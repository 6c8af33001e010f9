// Ai by its Taylor series about whole numbers, by an integral of the modified Bessel function of order 1/3,
// and by asymptotic series. "DLMF" is the NIST Digital Library of Mathematical Functions.
#include "kernels/cpu/elementwise/airy_function.h"

#include <cmath>

#include "kernels/cpu/elementwise/bessel_functions.h"
#include "kernels/cpu/elementwise/special_tables.h"

namespace tl::cpu::special {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kTaylorEnd = 0.5, kTaylorBegin = -8.5;

// y'' = x y makes (n + 1) (n + 2) c[n+2] = node c[n] + c[n-1] of the series about a node.
double taylor(double x) {
  const int index = static_cast<int>(-std::nearbyint(x));
  const double node = -index, d = x - node;
  double before = 0, now = kAiryNodes[index][0], next = kAiryNodes[index][1];
  double power = d, sum = 0;
  for (int n = 0; n < 28; ++n) {
    sum += next * power;
    const double after = (node * now + before) / ((n + 1) * (n + 2));
    before = now;
    now = next;
    next = after;
    power *= d;
  }
  return kAiryNodes[index][0] + sum;
}

struct Phase {  // 2/3 |x|^(3/2), and what its rounding left
  double value, rest;
};

Phase phase(double x) {
  const double root = std::sqrt(x), root_rest = -std::fma(root, root, -x) / (2 * root);
  const double product = x * root, product_rest = std::fma(x, root, -product) + x * root_rest;
  const double value = 2 * product / 3;
  return {value, (2 * product_rest - std::fma(value, 3, -2 * product)) / 3};
}

// DLMF 9.6.2, the Bessel function as in DLMF 10.32.9, by the trapezoidal rule; for large x DLMF 9.7.5.
double decaying(double x) {
  if (x > 110) return 0;
  const Phase z = phase(x);
  const double size = std::exp(-z.value) * (1 - z.rest);
  if (z.value < kBesselSeriesEnd)
    return size * std::sqrt(x / 3) / kPi * scaled_bessel_k(BesselOrder::Third, z.value);
  double term = 1, sum = 1;
  for (double k = 1; k < 30 && std::fabs(term) > 1e-17; ++k)
    sum += term *= -(6 * k - 5) * (6 * k - 1) / (72 * k * z.value);
  return size * sum / (2 * std::sqrt(kPi) * std::sqrt(std::sqrt(x)));
}

// DLMF 9.7.9, for -x.
double oscillating(double x) {
  const Phase z = phase(x);
  double term = 1, even = 1, odd = 0;
  for (int k = 1; k < 40 && std::fabs(term) > 1e-17; ++k) {
    term *= (6.0 * k - 5) * (6.0 * k - 1) / (72.0 * k * z.value);
    double& sum = k % 2 ? odd : even;
    sum += k / 2 % 2 ? -term : term;
  }
  const double s = std::sin(z.value), c = std::cos(z.value);
  const double sine = s + z.rest * c,
               cosine = c - z.rest * s;  // of the phase; pi/4 less below, times sqrt(2)
  return ((cosine + sine) * even + (sine - cosine) * odd) / (std::sqrt(2 * kPi) * std::sqrt(std::sqrt(x)));
}

}  // namespace

double airy_ai(double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return 0;
  if (x > kTaylorEnd) return decaying(x);
  return x < kTaylorBegin ? oscillating(-x) : taylor(x);
}

}  // namespace tl::cpu::special

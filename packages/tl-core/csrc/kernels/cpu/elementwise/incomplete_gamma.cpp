// The smaller of P and Q by quadrature of one sign; the other is one less it. "DLMF" is the NIST Digital
// Library of Mathematical Functions.
#include "kernels/cpu/elementwise/incomplete_gamma.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise/exponential_quadrature.h"

namespace tl::cpu::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoPi = 6.28318530717958647692;

// log(1 + x) - x: directly, or from the series of the inverse hyperbolic tangent.
double log1p_rest(double x) {
  if (std::fabs(x) > 0.5) return std::log1p(x) - x;
  const double r = x / (2 + x), square = r * r;
  double sum = 0;
  for (int k = 33; k > 1; k -= 2) sum = (sum + 1.0 / k) * square;
  return r * (2 * sum - x);
}

// B_2k / (2k (2k - 1)) from k = 7 down: DLMF 5.11.1.
constexpr double kStirling[] = {1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                                1.0 / 1260, -1.0 / 360,      1.0 / 12};

// x^a exp(-x) / gamma(a + 1) by Stirling's formula (DLMF 5.11.1) and Loader's split of the exponent (2000),
// in which nothing large cancels.
double prefactor(double a, double x) {
  const double square = 1 / (a * a);
  double rest = 0;
  for (double c : kStirling) rest = rest * square + c;
  return std::exp(a * log1p_rest((x - a) / a) - rest / a) / std::sqrt(kTwoPi * a);
}

// exp(s) - 1 - s.
double exp_rest(double s) {
  if (std::fabs(s) > 0.3) return std::expm1(s) - s;
  double sum = 1;
  for (int n = 13; n > 2; --n) sum = 1 + sum * s / n;
  return sum * s * s / 2;
}

// The smaller tail: t^(a-1) exp(-t) from x away from a, with t = x exp(s).
double tail_integral(double a, double x) {
  const double size = prefactor(a, x), side = x < a ? -1 : 1, away = side * (x - a);
  if (size == 0) return 0;
  return size * a * exponential_quadrature(1 / (away + std::sqrt(x)), [=](double s) {
           return std::exp(-away * s - x * exp_rest(side * s));
         });
}

}  // namespace

double large_incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0 && x >= 0)) return kNaN;
  if (a == kInfinity) return x == kInfinity ? kNaN : upper;
  if (a == 0) return x == 0 ? kNaN : !upper;
  if (x == 0) return upper;
  if (x == kInfinity) return !upper;
  const double smaller = tail_integral(a, x);
  return (x >= a) == upper ? smaller : 1 - smaller;
}

}  // namespace tl::cpu::special

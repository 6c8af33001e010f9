// Whichever of P and Q is smaller is computed, by terms of one sign; the other is one less it. "DLMF" is the
// NIST Digital Library of Mathematical Functions.
#include "kernels/cpu/elementwise/incomplete_gamma.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise/exponential_quadrature.h"
#include "kernels/cpu/elementwise/special_functions.h"
#include "kernels/cpu/elementwise/special_tables.h"

namespace tl::cpu::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoPi = 6.28318530717958647692;
constexpr double kEuler = 0.57721566490153286061;
constexpr double kLargeShape = 100;  // from here on the quadrature takes fewer steps than the sums

// log(1 + x) - x: directly, or from the series of the inverse hyperbolic tangent.
double log1p_rest(double x) {
  if (std::fabs(x) > 0.5) return std::log1p(x) - x;
  const double r = x / (2 + x), square = r * r;
  double sum = 0;
  for (int k = 33; k > 1; k -= 2) sum = (sum + 1.0 / k) * square;
  return r * (2 * sum - x);
}

// log(1 + a!) for |a| <= 1/2, without the rounding of 1 + a: DLMF 5.7.3.
double log_gamma_of_one_plus(double a) {
  if (a > 0.5) return lgamma(1 + a);
  double sum = 0;
  for (int k = 25; k >= 2; --k) sum = (kZetaLessOne[k - 2] / k - sum) * a;
  return sum * a + a * (1 - kEuler) - std::log1p(a);
}

// B_2k / (2k (2k - 1)) from k = 7 down: DLMF 5.11.1.
constexpr double kStirling[] = {1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                                1.0 / 1260, -1.0 / 360,      1.0 / 12};

// x^a exp(-x) / gamma(a + 1), for large a by Stirling's formula (DLMF 5.11.1) and Loader's split of the
// exponent (2000), in which nothing large cancels.
double prefactor(double a, double x) {
  if (a < 10) {
    if (x < 700) return std::pow(x, a) * std::exp(-x) / std::tgamma(a + 1);
    return std::exp(a * std::log(x) - x - lgamma(a + 1));
  }
  const double square = 1 / (a * a);
  double rest = 0;
  for (double c : kStirling) rest = rest * square + c;
  return std::exp(a * log1p_rest((x - a) / a) - rest / a) / std::sqrt(kTwoPi * a);
}

// P by DLMF 8.11.4.
double lower_series(double a, double x) {
  double term = 1, sum = 1;
  for (double n = 1; term > 1e-17 * sum; ++n) sum += term *= x / (a + n);
  return prefactor(a, x) * sum;
}

// Q for small a and x: DLMF 8.7.3, with what cancels against one taken out of the sum.
double upper_series(double a, double x) {
  double term = 1, sum = 0;
  for (double n = 1; n < 100 && std::fabs(term) > 1e-18; ++n) {
    term *= -x / n;
    sum -= term / (a + n);
  }
  const double exponent = a * std::log(x) - log_gamma_of_one_plus(a);
  return std::exp(exponent) * a * sum - std::expm1(exponent);
}

// Q by the continued fraction DLMF 8.9.2: forwards until its value no longer changes, by the modified method
// of Lentz (Thompson and Barnett 1986), then backwards, where rounding errors shrink.
double upper_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, step = 0, terms = 1;
  for (; terms < 1000 && std::fabs(step - 1) > 1e-16; ++terms) {
    const double numerator = terms * (a - terms);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    step = c * d;
  }
  double value = 0;
  for (double n = terms; n > 0; --n) value = n * (a - n) / (x + 1 - a + 2 * n + value);
  return prefactor(a, x) * a / (x + 1 - a + value);
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

struct Tail {
  bool upper;
  double value;
};

// P or Q, whichever loses nothing.
Tail tail(double a, double x) {
  if (a >= kLargeShape) return {x >= a, tail_integral(a, x)};
  if (x >= 1.5 && x >= a + 1) return {true, upper_fraction(a, x)};
  const double lower = lower_series(a, x);
  if (lower < 0.7 || x >= 1.5) return {false, lower};
  return {true, upper_series(a, x)};
}

double regularized(double a, double x, bool upper) {
  if (!(a >= 0 && x >= 0)) return kNaN;
  if (a == kInfinity) return x == kInfinity ? kNaN : upper;
  if (a == 0) return x == 0 ? kNaN : !upper;
  if (x == 0) return upper;
  if (x == kInfinity) return !upper;
  const Tail t = tail(a, x);
  return t.upper == upper ? t.value : 1 - t.value;
}

}  // namespace

double gammainc(double a, double x) { return regularized(a, x, false); }
double gammaincc(double a, double x) { return regularized(a, x, true); }

}  // namespace tl::cpu::special

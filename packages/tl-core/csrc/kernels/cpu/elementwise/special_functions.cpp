// Special functions in double precision: recurrences, asymptotic and power series, and Halley iterations.
// "DLMF" is the NIST Digital Library of Mathematical Functions, "A&S" Abramowitz and Stegun (1964).
#include "kernels/cpu/elementwise/special_functions.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "kernels/cpu/elementwise/special_tables.h"

namespace tl::cpu::special {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kHalfRootPi = 0.88622692545275801365;  // sqrt(pi) / 2
constexpr double kRootHalf = 0.70710678118654752440;

// B_2k, the Bernoulli numbers.
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,       5.0 / 66,
                                 -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798.0, -174611.0 / 330};
constexpr double kAsymptotic = 10;  // from this argument on the asymptotic series converge to rounding
}  // namespace

// ---- gamma and zeta ---------------------------------------------------------------------------------------
double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global
}

namespace {
// The Taylor series about the positive root, where the terms of the other formulas cancel.
double digamma_about_root(double x) {
  const double d = x - kDigammaRoot - kDigammaRootRest;
  double sum = 0;
  for (int k = std::size(kDigammaSeries) - 1; k >= 0; --k) sum = (sum + kDigammaSeries[k]) * d;
  return sum;
}

// pi cot(pi x) of |x| <= 1/2, also near its ends: what is left to them is exact.
double pi_cotangent(double x) {
  const double rest = 0.5 - std::fabs(x);
  return rest > 0.25 ? kPi / std::tan(kPi * x) : std::copysign(kPi * std::tan(kPi * rest), x);
}
}  // namespace

// Recurrence psi(x) = psi(x + 1) - 1/x (DLMF 5.5.2) up to kAsymptotic, then the asymptotic series
// (DLMF 5.11.2); negative arguments by reflection (DLMF 5.5.4).
double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {
    const double part = x - std::nearbyint(x);
    return part == 0 ? kNaN : digamma(1 - x) - pi_cotangent(part);
  }
  if (std::fabs(x - kDigammaRoot) < 0.5) return digamma_about_root(x);
  double sum = 0;
  for (; x < kAsymptotic; ++x) sum -= 1 / x;
  if (x == kInfinity) return x;
  double series = 0, power = 1 / (x * x);
  for (int k = 7; k >= 0; --k) series = (series + kBernoulli[k] / (2 * k + 2)) * power;
  return sum + std::log(x) - 0.5 / x - series;
}

// The derivative of digamma by the derivatives of its three formulas: recurrence (DLMF 5.15.5), reflection
// (5.15.6) and asymptotic series (5.15.8).
double trigamma(double x) {
  if (x <= 0) {
    const double part = x - std::nearbyint(x);
    if (part == 0) return kInfinity;
    const double s = kPi / std::sin(kPi * part);
    return s * s - trigamma(1 - x);
  }
  double sum = 0;
  for (; x < kAsymptotic; ++x) sum += 1 / (x * x);
  double series = 0, power = 1 / (x * x);
  for (int k = 9; k >= 0; --k) series = (series + kBernoulli[k]) * power;
  return sum + 1 / x + power / 2 + series / x;
}

// Hurwitz zeta: direct terms, then the Euler-Maclaurin formula for the tail (DLMF 2.10.1, 25.11.1).
double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (!(s > 1)) return kNaN;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNaN;
  }
  double sum = 0;
  for (int k = 0; k < 10 || q < kAsymptotic; ++k, ++q) {
    const double term = std::pow(q, -s);
    sum += term;
    if (term == 0 || std::fabs(term) < sum * 1e-17) return sum;
  }
  const double last = std::pow(q, -s);
  sum += last * q / (s - 1) + last / 2;
  double factor = last * s / (2 * q);  // s (s+1) ... (s+2k) q^(-s-2k-1) / (2k+2)!
  for (int k = 0; k < 10; ++k) {
    const double term = factor * kBernoulli[k];
    sum += term;
    if (std::fabs(term) < std::fabs(sum) * 1e-17) break;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / ((2 * k + 3) * (2 * k + 4) * q * q);
  }
  return sum;
}

// psi^(n)(x) = (-1)^(n+1) n! zeta(n + 1, x), DLMF 25.11.12.
double polygamma(double order, double x) {
  if (order == 0) return digamma(x);
  if (order == 1) return trigamma(x);
  const double size = std::tgamma(order + 1) * zeta(order + 1, x);
  return std::fmod(order, 2) == 0 ? -size : size;
}

// ---- the error function -----------------------------------------------------------------------------------
// exp(x^2) erfc(x): the product, with the rounding error of x^2 compensated by an fma; from 25 on the
// asymptotic series (DLMF 7.12.1).
double erfcx(double x) {
  if (x < 25) {
    const double square = x * x, lost = std::fma(x, x, -square);
    return std::exp(square) * (1 + lost) * std::erfc(x);
  }
  double sum = 0;
  const double step = 1 / (2 * x * x);
  for (int k = 13; k > 0; k -= 2) sum = (1 + sum) * (-k * step);
  return (1 + sum) / (x * 2 * kHalfRootPi);
}

namespace {
// The x with erfc(x) = c, for 0 < c <= 1/2: the rational approximation of Hastings
// (A&S 26.2.23, error below 4.5e-4), refined by two Halley iterations; f''/f' = -2x makes each one division.
double erfc_inverse(double c) {
  const double logarithm = std::log(c), t = std::sqrt(-2 * (logarithm - 0.69314718055994530942));
  double x = kRootHalf * (t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                                  (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 2; ++i) {
    const double newton = kHalfRootPi * (erfcx(x) - std::exp(x * x + logarithm));
    x += newton / (1 - newton * x);
  }
  return x;
}
// The x with erf(x) = y, for 0 <= y <= 1/2: two terms of the Maclaurin series, refined by three Halley
// iterations.
double erf_inverse(double y) {
  double x = kHalfRootPi * y * (1 + kPi / 12 * y * y);
  for (int i = 0; i < 3; ++i) {
    const double newton = kHalfRootPi * (std::erf(x) - y) * std::exp(x * x);
    x -= newton / (1 + newton * x);
  }
  return x;
}
}  // namespace

double erfinv(double x) {
  const double size = std::fabs(x);
  if (!(size < 1)) return size == 1 ? x * kInfinity : kNaN;
  return std::copysign(size <= 0.5 ? erf_inverse(size) : erfc_inverse(1 - size), x);
}

}  // namespace tl::cpu::special

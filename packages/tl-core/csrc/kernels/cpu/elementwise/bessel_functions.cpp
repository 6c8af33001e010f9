// Modified Bessel functions: power series, asymptotic series, and the trapezoidal rule for an integral.
// "DLMF" is the NIST Digital Library of Mathematical Functions.
#include "kernels/cpu/elementwise/bessel_functions.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise/special_tables.h"

namespace tl::cpu::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286061;

// DLMF 10.25.2, whose terms are all positive, without the factor (x/2)^order / order!, by Horner's rule in
// x^2/4; what the rounding of that lost is given back by the derivative.
double power_series(const double (&coefficients)[kBesselTerms], double x) {
  const double half = x / 2, quarter = half * half, rest = std::fma(half, half, -quarter);
  double value = 0, derivative = 0;
  for (int k = kBesselTerms - 1; k >= 0; --k) {
    derivative = std::fma(derivative, quarter, value);
    value = std::fma(value, quarter, coefficients[k]);
  }
  return value + derivative * rest;
}

// DLMF 10.40.1 (sign -1, of I) and 10.40.2 (sign 1, of K).
double asymptotic_series(double order, double x, double sign) {
  double term = 1, sum = 0;
  for (double k = 1; k < 40 && std::fabs(term) > 1e-18; ++k)
    sum += term *= sign * (4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8 * k * x);
  return 1 + sum;
}

double power_form(double order, double x) {
  return order == 0 ? power_series(kBesselI0, x) : power_series(kBesselI1, x) * (x / 2);
}
double asymptotic_form(double order, double x) {
  return asymptotic_series(order, x, -1) / std::sqrt(2 * kPi * x);
}

double bessel_i(double order, double x) {
  if (x == kInfinity) return x;
  if (x <= kBesselSeriesEnd) return power_form(order, x);
  const double half = std::exp(x / 2);  // exp(x) overflows earlier than the product
  return half * asymptotic_form(order, x) * half;
}
double scaled_bessel_i(double order, double x) {
  if (x == kInfinity) return 0;
  return x <= kBesselSeriesEnd ? power_form(order, x) * std::exp(-x) : asymptotic_form(order, x);
}

// K of orders 0 and 1 up to 1: DLMF 10.31.2, in which only positive terms are left below 1.12, and 10.31.1.
double k0_series(double x) {
  const double quarter = x * x / 4, logarithm = std::log(x / 2) + kEuler;
  double term = 1, harmonic = 0, sum = 0;
  for (double k = 1; k < 20; ++k) {
    harmonic += 1 / k;
    term *= quarter / (k * k);
    sum += term * (harmonic - logarithm);
  }
  return sum - logarithm;
}
double k1_series(double x) {
  const double quarter = x * x / 4, logarithm = std::log(x / 2) + kEuler;
  double term = 1, harmonics = 1, sum = 0;  // of k and k + 1
  for (double k = 1; k < 20; ++k) {
    sum += term * (logarithm - harmonics / 2);
    harmonics += 1 / k + 1 / (k + 1);
    term *= quarter / (k * (k + 1));
  }
  return 1 / x + sum * x / 2;
}

constexpr double kSmall = 1;

double series_k(BesselOrder order, double x) {
  return order == BesselOrder::Zero ? k0_series(x) : k1_series(x);
}

double scaled_k(BesselOrder order, double x) {
  if (std::isnan(x) || x < 0) return kNaN;
  if (x == 0) return kInfinity;
  if (x == kInfinity) return 0;
  if (x <= kSmall) return series_k(order, x) * std::exp(x);
  return scaled_bessel_k(order, x);
}

double unscaled_k(BesselOrder order, double x) {
  if (x > 0 && x <= kSmall) return series_k(order, x);
  return scaled_k(order, x) * (std::isinf(x) ? 1 : std::exp(-x));
}

}  // namespace

// DLMF 10.32.9 with exp(x) in the integrand: the trapezoidal rule converges geometrically (Trefethen and
// Weideman 2014), the step of 1/7 is fit for all x up to kBesselSeriesEnd.
double scaled_bessel_k(BesselOrder order, double x) {
  constexpr double kOrders[] = {0, 1.0 / 3, 1};
  if (x > kBesselSeriesEnd)
    return asymptotic_series(kOrders[static_cast<int>(order)], x, 1) * std::sqrt(kPi / (2 * x));
  int last = 0;
  while (last < kBesselNodeCount - 1 && x * kBesselNodes[last].cosh_less_one < 44) ++last;
  double sum = 0;
  for (int j = last; j >= 0; --j) {
    const BesselNode& node = kBesselNodes[j];
    const double factor[] = {1, node.cosh_third, 1 + node.cosh_less_one};
    sum += std::exp(-x * node.cosh_less_one) * factor[static_cast<int>(order)];
  }
  return (sum + 0.5) / 7;
}

double i0(double x) { return bessel_i(0, std::fabs(x)); }
double i0e(double x) { return scaled_bessel_i(0, std::fabs(x)); }
double i1(double x) { return std::copysign(bessel_i(1, std::fabs(x)), x); }
double i1e(double x) { return std::copysign(scaled_bessel_i(1, std::fabs(x)), x); }
double k0(double x) { return unscaled_k(BesselOrder::Zero, x); }
double k0e(double x) { return scaled_k(BesselOrder::Zero, x); }
double k1(double x) { return unscaled_k(BesselOrder::One, x); }
double k1e(double x) { return scaled_k(BesselOrder::One, x); }

double spherical_j0(double x) {  // DLMF 10.49.3
  if (x == 0) return 1;
  return std::isinf(x) ? 0 : std::sin(x) / x;
}

}  // namespace tl::cpu::special

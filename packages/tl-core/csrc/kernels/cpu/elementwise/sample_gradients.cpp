// Derivatives of the incomplete gamma and beta functions by their parameters, divided by the density. Each is
// a sum or an integral of terms of one sign, so that nothing cancels; "DLMF" is the NIST Digital Library of
// Mathematical Functions.
#include "kernels/cpu/elementwise/sample_gradients.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise/exponential_quadrature.h"
#include "kernels/cpu/elementwise/special_functions.h"

namespace tl::cpu::special {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargeShape = 100;  // from here on the quadrature takes fewer steps than the sums

// DLMF 8.11.4, differentiated by a: the sum of x^(n+1) / (a (a+1) ... (a+n)) (psi(a+n+1) - log x).
double gamma_grad_series(double a, double x) {
  const double logarithm = std::log(x);
  double term = x / a, psi = digamma(a + 1), sum = term * (psi - logarithm);
  for (double n = 1; term * std::fabs(psi - logarithm) > 1e-18 * std::fabs(sum); ++n) {
    psi += 1 / (a + n);
    term *= x / (a + n);
    sum += term * (psi - logarithm);
  }
  return sum;
}

struct Dual {  // a value and its derivative by a
  double value, tangent;
};
Dual operator+(Dual x, Dual y) { return {x.value + y.value, x.tangent + y.tangent}; }
Dual operator*(Dual x, Dual y) { return {x.value * y.value, x.tangent * y.value + x.value * y.tangent}; }
Dual inverse(Dual x) { return {1 / x.value, -x.tangent / (x.value * x.value)}; }

// The continued fraction DLMF 8.9.2 by the modified method of Lentz (Thompson and Barnett 1986), with its
// derivative.
double gamma_grad_fraction(double a, double x) {
  Dual b{x + 1 - a, -1}, c{1e300, 0}, d = inverse(b), h = d;
  for (double n = 1; n < 1000; ++n) {
    const Dual numerator{n * (a - n), n};
    b.value += 2;
    d = inverse(numerator * d + b);
    c = b + numerator * inverse(c);
    const Dual step = c * d;
    h = h * step;
    if (std::fabs(step.value - 1) < 1e-16 && std::fabs(step.tangent) < 1e-16 * std::fabs(h.tangent)) break;
  }
  return x * (h.value * (std::log(x) - digamma(a)) + h.tangent);
}

// exp(s) - 1 - s.
double exp_rest(double s) {
  if (std::fabs(s) > 0.3) return std::expm1(s) - s;
  double sum = 1;
  for (int n = 13; n > 2; --n) sum = 1 + sum * s / n;
  return sum * s * s / 2;
}

// The integral of t^(a-1) exp(-t) (log t - psi(a)) over the side of x where its sign does not change, with
// t = x exp(s).
double gamma_grad_integral(double a, double x) {
  const double side = x < a ? -1 : 1, away = side * (x - a);
  const double square = 1 / (a * a);  // of log(a) - psi(a): DLMF 5.11.2
  const double rest = square * (1.0 / 12 + square * (-1.0 / 120 + square * (1.0 / 252 - square / 240)));
  const double offset = std::log1p((x - a) / a) + 0.5 / a + rest;
  return x * exponential_quadrature(1 / (away + std::sqrt(x)), [=](double s) {
           return std::exp(-away * s - x * exp_rest(side * s)) * (side * offset + s);
         });
}

}  // namespace

double standard_gamma_grad(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNaN;
  if (x == 0 || std::isinf(x)) return x;
  if (a >= kLargeShape) return gamma_grad_integral(a, x);
  return x < a + 1 || x < 1.5 ? gamma_grad_series(a, x) : gamma_grad_fraction(a, x);
}

// The integral of t^(alpha-1) (1-t)^(beta-1) (log t - psi(alpha) + psi(total)) over the side of x where its
// sign does not change, or, for small x, below it, where the integrand is smoother and little cancels; the
// logit of t is that of x plus or minus s, and `shift` the logarithm of (1-x)/(1-t).
double dirichlet_grad(double x, double alpha, double total) {
  if (!(alpha > 0) || !(total > alpha) || !(x >= 0) || !(x <= 1)) return kNaN;
  if (x == 0) return 0;
  const double logarithm = std::log(x), offset = logarithm + digamma(total) - digamma(alpha);
  const bool below = offset < 0 || (logarithm < -1 && offset * alpha < 0.9);
  const double side = below ? -1 : 1, rate = alpha - total * x;
  const double scale = 1 / (std::fabs(rate) + std::sqrt(total * x * (1 - x)));
  return x * exponential_quadrature(scale, [=](double s) {
           const double signed_s = side * s;
           const double shift =
               below ? std::log1p(x * std::expm1(-s)) : s + std::log1p((1 - x) * std::expm1(-s));
           const double size = std::exp(rate * signed_s - total * (shift - x * signed_s));
           return size * (side * (offset - shift) + s);
         });
}

}  // namespace tl::cpu::special

// The trigonometric forms of Chebyshev's polynomials (DLMF 18.5.1 to 18.5.4), and hyperbolic ones outside
// [-1, 1]. "DLMF" is the NIST Digital Library of Mathematical Functions.
#include "kernels/cpu/elementwise/orthogonal_polynomials.h"

#include <cmath>

namespace tl::cpu::special {
namespace {

bool is_odd(double n) { return std::fmod(n, 2) == 1; }
double alternating(double n, double size) { return is_odd(n) ? -size : size; }

// V and W for x > 1; at -x each is the other with alternating sign.
double hyperbolic_v(double x, double n) {
  const double half = std::acosh(x) / 2;
  return std::cosh((2 * n + 1) * half) / std::cosh(half);
}
double hyperbolic_w(double x, double n) {
  const double half = std::acosh(x) / 2;
  return std::sinh((2 * n + 1) * half) / std::sinh(half);
}

}  // namespace

double chebyshev_polynomial_t(double x, double n) {
  n = std::trunc(n);
  if (std::fabs(x) == 1) return x > 0 ? 1 : alternating(n, 1);
  if (std::fabs(x) > 1) {
    const double size = std::cosh(n * std::acosh(std::fabs(x)));
    return x > 0 ? size : alternating(n, size);
  }
  return std::cos(n * std::acos(x));
}

double chebyshev_polynomial_u(double x, double n) {
  n = std::trunc(n);
  if (std::fabs(x) == 1) return x > 0 ? n + 1 : alternating(n, n + 1);
  if (std::fabs(x) > 1) {
    const double argument = std::acosh(std::fabs(x));
    const double size = std::sinh((n + 1) * argument) / std::sinh(argument);
    return x > 0 ? size : alternating(n, size);
  }
  const double angle = std::acos(x);
  return std::sin((n + 1) * angle) / std::sin(angle);
}

double chebyshev_polynomial_v(double x, double n) {
  n = std::trunc(n);
  if (std::fabs(x) == 1) return x > 0 ? 1 : alternating(n, 2 * n + 1);
  if (std::fabs(x) > 1) return x > 0 ? hyperbolic_v(x, n) : alternating(n, hyperbolic_w(-x, n));
  const double half = std::acos(x) / 2;
  return std::cos((2 * n + 1) * half) / std::cos(half);
}

double chebyshev_polynomial_w(double x, double n) {
  n = std::trunc(n);
  if (std::fabs(x) == 1) return x > 0 ? 2 * n + 1 : alternating(n, 1);
  if (std::fabs(x) > 1) return x > 0 ? hyperbolic_w(x, n) : alternating(n, hyperbolic_v(-x, n));
  const double half = std::acos(x) / 2;
  return std::sin((2 * n + 1) * half) / std::sin(half);
}

}  // namespace tl::cpu::special

// Three-term recurrences (DLMF 18.9.1, 18.9.2), and the trigonometric forms of Chebyshev's polynomials
// (DLMF 18.5.1 to 18.5.4) from some degree on. "DLMF" is the NIST Digital Library of Mathematical Functions.
#include "kernels/cpu/elementwise/orthogonal_polynomials.h"

#include <cmath>
#include <limits>

namespace tl::cpu::special {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMostDegree = 0x1p53;
constexpr double kMostHermite = 512;  // the degree from which on the reference implementation gives NaN
constexpr double kTrigonometric =
    8;  // the degree from which on the trigonometric forms are used inside (-1, 1)
constexpr double kHyperbolic = 64;  // and the hyperbolic ones outside

bool is_degree(double n) { return n > -1 && n < kMostDegree; }  // rounded towards zero

// p[n] from p[0] = 1, p[1] and p[k+1] = next(k, p[k], p[k-1]); what is no longer finite stays so.
template <class Next>
double recurrence(double n, double first, Next next) {
  if (!is_degree(n)) return 0;
  n = std::trunc(n);
  double before = 1, now = first;
  if (n == 0) return before;
  for (double k = 1; k < n && std::isfinite(now); ++k) {
    const double after = next(k, now, before);
    before = now;
    now = after;
  }
  return now;
}

bool is_odd(double n) { return std::fmod(n, 2) == 1; }
double alternating(double n, double size) { return is_odd(n) ? -size : size; }

// The recurrence of all four kinds.
double chebyshev(double x, double n, double first) {
  return recurrence(n, first, [=](double, double now, double before) { return 2 * x * now - before; });
}

bool is_trigonometric(double x, double n) { return n >= kTrigonometric && std::fabs(x) < 1; }
bool is_hyperbolic(double x, double n) { return n >= kHyperbolic && std::fabs(x) > 1; }

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
  if (!is_degree(n)) return 0;
  n = std::trunc(n);
  if (std::fabs(x) == 1) return x > 0 ? 1 : alternating(n, 1);
  if (is_hyperbolic(x, n)) {
    const double size = std::cosh(n * std::acosh(std::fabs(x)));
    return x > 0 ? size : alternating(n, size);
  }
  return is_trigonometric(x, n) ? std::cos(n * std::acos(x)) : chebyshev(x, n, x);
}

double chebyshev_polynomial_u(double x, double n) {
  if (!is_degree(n)) return 0;
  n = std::trunc(n);
  if (std::fabs(x) == 1) return x > 0 ? n + 1 : alternating(n, n + 1);
  if (is_hyperbolic(x, n)) {
    const double argument = std::acosh(std::fabs(x));
    const double size = std::sinh((n + 1) * argument) / std::sinh(argument);
    return x > 0 ? size : alternating(n, size);
  }
  if (!is_trigonometric(x, n)) return chebyshev(x, n, x + x);
  const double angle = std::acos(x);
  return std::sin((n + 1) * angle) / std::sin(angle);
}

double chebyshev_polynomial_v(double x, double n) {
  if (!is_degree(n)) return 0;
  n = std::trunc(n);
  if (std::fabs(x) == 1) return x > 0 ? 1 : alternating(n, 2 * n + 1);
  if (is_hyperbolic(x, n)) return x > 0 ? hyperbolic_v(x, n) : alternating(n, hyperbolic_w(-x, n));
  if (!is_trigonometric(x, n)) return chebyshev(x, n, x + x - 1);
  const double half = std::acos(x) / 2;
  return std::cos((2 * n + 1) * half) / std::cos(half);
}

double chebyshev_polynomial_w(double x, double n) {
  if (!is_degree(n)) return 0;
  n = std::trunc(n);
  if (std::fabs(x) == 1) return x > 0 ? 2 * n + 1 : alternating(n, 1);
  if (is_hyperbolic(x, n)) return x > 0 ? hyperbolic_w(x, n) : alternating(n, hyperbolic_v(-x, n));
  if (!is_trigonometric(x, n)) return chebyshev(x, n, x + x + 1);
  const double half = std::acos(x) / 2;
  return std::sin((2 * n + 1) * half) / std::sin(half);
}

double hermite_polynomial_h(double x, double n) {
  if (is_degree(n) && n > kMostHermite) return kNaN;
  return recurrence(n, 2 * x,
                    [=](double k, double now, double before) { return 2 * x * now - 2 * k * before; });
}

double hermite_polynomial_he(double x, double n) {
  if (is_degree(n) && n > kMostHermite) return kNaN;
  return recurrence(n, x, [=](double k, double now, double before) { return x * now - k * before; });
}

double laguerre_polynomial_l(double x, double n) {
  if (x == 0 && is_degree(n)) return 1;
  return recurrence(n, 1 - x, [=](double k, double now, double before) {
    return ((2 * k + 1 - x) * now - k * before) / (k + 1);
  });
}

double legendre_polynomial_p(double x, double n) {
  if (std::fabs(x) == 1 && is_degree(n)) return x > 0 ? 1 : alternating(std::trunc(n), 1);
  return recurrence(n, x, [=](double k, double now, double before) {
    return ((2 * k + 1) * x * now - k * before) / (k + 1);
  });
}

}  // namespace tl::cpu::special

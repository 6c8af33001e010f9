// Chebyshev's polynomials of high degree n at x; n is rounded towards zero.
#pragma once

namespace tl::cpu::special {

constexpr double kMostDegree = 0x1p53;
constexpr double kTrigonometric = 8;  // the degree from which on they serve inside (-1, 1)
constexpr double kHyperbolic = 64;    // and outside; of lower degrees are the recurrences, but for 1 and -1

double chebyshev_polynomial_t(double x, double n);
double chebyshev_polynomial_u(double x, double n);
double chebyshev_polynomial_v(double x, double n);
double chebyshev_polynomial_w(double x, double n);

}  // namespace tl::cpu::special

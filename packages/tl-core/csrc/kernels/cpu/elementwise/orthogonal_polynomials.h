// Orthogonal polynomials of degree n at x; n is rounded towards zero, and 0 is returned for negative n.
#pragma once

namespace tl::cpu::special {

double chebyshev_polynomial_t(double x, double n);
double chebyshev_polynomial_u(double x, double n);
double chebyshev_polynomial_v(double x, double n);
double chebyshev_polynomial_w(double x, double n);
double hermite_polynomial_h(double x, double n);
double hermite_polynomial_he(double x, double n);
double laguerre_polynomial_l(double x, double n);
double legendre_polynomial_p(double x, double n);

}  // namespace tl::cpu::special

// The regularized incomplete gamma functions of large shapes, and at the ends of their domain.
#pragma once

namespace tl::cpu::special {

constexpr double kLargeShape = 100;  // from here on quadrature takes fewer steps than sums

// P(a, x), or the upper one, Q = 1 - P, for a >= kLargeShape; for any a where a or x is at an end.
double large_incomplete_gamma(double a, double x, bool upper);

}  // namespace tl::cpu::special

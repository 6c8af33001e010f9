// The regularized incomplete gamma functions.
#pragma once

namespace tl::cpu::special {

double gammainc(double a, double x);   // the lower one, P(a, x)
double gammaincc(double a, double x);  // the upper one, Q(a, x) = 1 - P(a, x)

}  // namespace tl::cpu::special

// The integral from 0 to infinity of a function that decays exponentially.
#pragma once

#include <cmath>

namespace tl::cpu::special {

// The trapezoidal rule after s = scale exp(u - exp(-u)), which makes the decay double exponential to both
// sides (Takahasi and Mori 1974). `scale` is about the length after which f has decayed.
template <class F>
double exponential_quadrature(double scale, F f) {
  constexpr double kStep = 1.0 / 12;
  double sum = 0;
  for (double u = -3.75; u < 40; u += kStep) {
    const double down = std::exp(-u), s = scale * std::exp(u - down);
    const double term = f(s) * s * (1 + down);
    sum += term;
    if (u > 0 && std::fabs(term) <= 1e-18 * std::fabs(sum)) break;
  }
  return sum * kStep;
}

}  // namespace tl::cpu::special

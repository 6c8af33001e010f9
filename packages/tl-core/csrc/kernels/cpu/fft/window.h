// Window functions, computed in double precision.
#pragma once

#include <cstdint>
#include <span>

namespace tl::cpu {

enum class WindowShape { Cosines, Triangle, Kaiser, Gaussian, Exponential, Sine };

// A window of n numbers whose shape extends over `period` + 1 of them; n is at least 1. The parameters are
// those of the shape: the coefficients of a sum of cosines, beta, the standard deviation, the time constant
// and the centre.
struct Window {
  WindowShape shape;
  int64_t n, period;
  std::span<const double> parameters;
};

void fill_window(const Window& w, double* out);
void fill_window(const Window& w, float* out);

}  // namespace tl::cpu

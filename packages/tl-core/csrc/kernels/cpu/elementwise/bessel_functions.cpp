// The spherical Bessel function by its closed form. "DLMF" is the NIST Digital Library of Mathematical
// Functions.
#include "kernels/cpu/elementwise/bessel_functions.h"

#include <cmath>

namespace tl::cpu::special {

double spherical_j0(double x) {  // DLMF 10.49.3
  if (x == 0) return 1;
  return std::isinf(x) ? 0 : std::sin(x) / x;
}

}  // namespace tl::cpu::special

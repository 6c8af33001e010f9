// The spherical Bessel function of the first kind of order 0, in double precision.
#pragma once

namespace tl::cpu::special {

double spherical_j0(double x);

}  // namespace tl::cpu::special

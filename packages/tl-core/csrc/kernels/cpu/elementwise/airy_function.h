// The Airy function far to the left.
#pragma once

namespace tl::cpu::special {

double oscillating_airy_ai(double x);  // for x < -8.5

}  // namespace tl::cpu::special

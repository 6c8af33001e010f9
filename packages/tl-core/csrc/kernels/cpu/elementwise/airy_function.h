// The Airy function.
#pragma once

namespace tl::cpu::special {

double airy_ai(double x);

}  // namespace tl::cpu::special

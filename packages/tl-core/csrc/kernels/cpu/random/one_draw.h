// One number at a time, in double, in the order in which the reference implementation draws them.
#pragma once

#include <cmath>
#include <numbers>

#include "base/generator.h"

namespace tl::cpu {

// 53 bits in [0, 1).
inline double draw_uniform_double(Generator& g) {
  return static_cast<double>(g.random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

// The Box-Muller transform; the second number of the pair waits in the generator.
inline double draw_normal_double(Generator& g) {
  if (g.next_double_normal) {
    const double waiting = *g.next_double_normal;
    g.next_double_normal.reset();
    return waiting;
  }
  const double u1 = draw_uniform_double(g), u2 = draw_uniform_double(g);
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = 2.0 * std::numbers::pi * u1;
  g.next_double_normal = radius * std::sin(theta);
  return radius * std::cos(theta);
}

}  // namespace tl::cpu

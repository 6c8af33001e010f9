// The range of floating types.
#pragma once

#include <limits>

#include "base/dtype.h"

namespace tl {

// The greatest finite number of a real floating type.
inline double largest(DType real) {
  if (real == stored::Float8_e4m3fn) return 448;
  if (real == stored::Float8_e4m3fnuz) return 240;
  if (real == stored::Float8_e5m2 || real == stored::Float8_e5m2fnuz) return 57344;
  switch (real) {
    case DType::Float16:
      return 65504;
    case DType::BFloat16:
      return 0x1.fep127;
    case DType::Float64:
      return std::numeric_limits<double>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

}  // namespace tl

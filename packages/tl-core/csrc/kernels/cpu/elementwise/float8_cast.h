// Conversion between the floating-point formats of eight bits and all types that compute.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

// One of the two types is a float8; NULL where the other is stored without being a number.
ElementwiseLoop float8_cast_loop(DType to, DType from);

}  // namespace tl::cpu

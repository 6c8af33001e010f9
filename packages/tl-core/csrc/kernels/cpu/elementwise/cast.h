// Copies that change the element type.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

// data[0] is the output, data[1] the input. Between equal types it is the copy of copy.h.
ElementwiseLoop cast_loop(DType to, DType from);

}  // namespace tl::cpu

// Running sums and products along one dimension.
#pragma once

#include "kernels/cpu/loops/along_dim.h"
#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

enum class Scan { Sum, Prod };
using ScanKernel = void (*)(const AlongShape& shape, char* const* data);

// Operands of the shape: output, input, both of this dtype. Float32 and the halves accumulate in double and
// float; integers wrap around; of bool, Sum is a running or, Prod a running and.
void scan(Scan op, DType dtype, const AlongShape& shape, char* out, const char* in);

}  // namespace tl::cpu

// Softmax and its logarithm along one dimension, for the floating dtypes.
#pragma once

#include "kernels/cpu/loops/along_dim.h"
#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

// Operands of the shape: output, input.
void softmax(bool log, DType dtype, const AlongShape& shape, char* out, const char* in);

// The gradient of the input from that of the result. Operands: output, gradient, result.
void softmax_backward(bool log, DType dtype, const AlongShape& shape, char* out, const char* grad,
                      const char* result);

}  // namespace tl::cpu

// cummax, cummin and logcumsumexp along one dimension.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/loops/along_dim.h"

namespace tl::cpu {

using CummaxKernel = void (*)(const AlongShape& shape, char* const* data);

// Operands of the shape: values, indices (int64), input. Of equal elements the last one counts; a NaN stays.
// Not for complex numbers.
void cummaxmin(bool largest, DType dtype, const AlongShape& shape, char* values, char* indices,
               const char* in);

// Operands of the shape: output, input. For floating and complex numbers.
void logcumsumexp(DType dtype, const AlongShape& shape, char* out, const char* in);

}  // namespace tl::cpu

// A linear map along each of up to three axes: average pooling, interpolation, their adjoints.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/spatial/resample_weights.h"

namespace tl::cpu {

// `dtype`: Float32 or Float64.
void resample(DType dtype, const SeparableResample& field, char* out, const char* in);

}  // namespace tl::cpu

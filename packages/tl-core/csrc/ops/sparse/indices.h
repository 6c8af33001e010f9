// Compressed indices that kernels may follow.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// The offsets as int64, which rise from 0 to `count`; raises for any others.
Tensor checked_csr_offsets(const char* op, const Tensor& compressed, int64_t count);

}  // namespace tl

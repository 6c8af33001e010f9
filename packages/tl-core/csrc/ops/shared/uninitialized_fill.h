// Fill of uninitialized memory with NaN or the largest value, for deterministic programs.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// For the whole process: NaN, or the largest number of a type without NaN, from now on.
void set_fill_uninitialized(bool fill);

// The tensor, whose elements nobody has written; filled if that is asked for.
Tensor uninitialized(Tensor t);
// The same of what lies beyond the first `bytes` of a dense tensor's storage, which has grown.
void fill_uninitialized_after(const Tensor& t, size_t bytes);

}  // namespace tl

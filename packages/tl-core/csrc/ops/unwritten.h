// Memory that nobody has written yet. A program that must be deterministic may ask for a value that shows in
// it.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// For the whole process: NaN, or the largest number of a type without NaN, from now on.
void set_fill_unwritten(bool fill);

// The tensor, whose elements nobody has written; filled if that is asked for.
Tensor unwritten(Tensor t);
// The same of what lies beyond the first `bytes` of a dense tensor's storage, which has grown.
void fill_unwritten_after(const Tensor& t, size_t bytes);

}  // namespace tl

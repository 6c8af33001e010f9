// Copying elements between tensors of any layout and type.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// dst[...] = src broadcast and converted; both on the CPU.
void copy_elements(const Tensor& dst, const Tensor& src);
// A dense tensor of C order with the same elements; `t` itself if it is one.
Tensor to_contiguous(const Tensor& t);
// Writes one value to every element: on the CPU, on any device.
class Scalar;
void fill_elements(const Tensor& dst, const Scalar& value);
void fill(const Tensor& dst, const Scalar& value);
// The same elements in another type; `t` itself if it has it.
Tensor to_dtype(const Tensor& t, DType dtype);

}  // namespace tl

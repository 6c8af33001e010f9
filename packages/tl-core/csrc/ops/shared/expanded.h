// Fills of tensors whose elements share memory as expand() makes them: deprecated, and still done.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// Whether some dimension repeats one element.
bool is_expanded(const Tensor& t);
void warn_expanded(const char* op, const char* assignment);
// Puts a number where the mask says so for any of the elements that share a place.
Tensor fill_expanded(const Tensor& self, const Tensor& mask, const Tensor& number);

}  // namespace tl

// What autograd adds to the tensor type.
#pragma once

#include "bind/python.h"

namespace tl::autograd {

void extend_tensor_type();
void retain_grad(TlTensor* t);
Tensor grad_of(TlTensor* t);
void set_grad_of(TlTensor* t, TlTensor* grad);  // NULL: none; raises exceptions of Python

}  // namespace tl::autograd

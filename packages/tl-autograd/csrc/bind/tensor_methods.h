// What autograd adds to the tensor type.
#pragma once

#include "bind/python.h"

namespace tl::autograd {

void extend_tensor_type();
void retain_grad(TlTensor* t);

}  // namespace tl::autograd

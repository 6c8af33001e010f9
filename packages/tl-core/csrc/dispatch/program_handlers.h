// Whether a handler of a program, and not of this library, gets the operators below autograd: what only this
// library computes as one operator is then made of operators that others know.
#pragma once

#include <initializer_list>
#include <span>

#include "tensor/tensor.h"

namespace tl {

using HandledByProgram = bool (*)(std::span<const Tensor* const> tensors);  // raises
void set_handled_by_program(HandledByProgram handled);

// Of a call with these tensors; those that aren't there are null.
bool handled_by_program(std::initializer_list<const Tensor*> tensors);

}  // namespace tl

// How a tensor gets a tangent: in the tensor's layout, and with it what its node saved of the tensor.
#pragma once

#include "levels/level.h"

namespace tl::autograd {

// Of one shape and type with `t`, in any layout.
void give_tangent(TlTensor* t, const Level& level, Tensor tangent);

// The same for an input, whose views by `as_strided` are written later: the tangent lies in memory as `t`
// does.
void give_input_tangent(TlTensor* t, const Level& level, Tensor tangent);

// The tangent, or a copy of it that `as_strided` reads at the places that it reads of `t`.
Tensor in_memory_like(TlTensor* t, Tensor tangent);

}  // namespace tl::autograd

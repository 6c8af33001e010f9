// Whether an operator made of others may look at elements to choose a quicker way.
#pragma once

#include "ops.h"
#include "tensor/tensor.h"

namespace tl {

// Not of tensors on meta, and not of those inside of a transform, which may stand for a batch.
inline bool has_known_values(const Tensor& t) {
  return !t.is_meta() && !(t->all_bits() & uint64_t{1} << TL_LAYER_TRANSFORMS);
}

// A copy to write these values into: with their batches, where a transform hides any.
template <class Values>
Tensor copy_to_write(const Tensor& self, const Values& values) {
  Tensor copy;
  for (const Tensor& t : values) {
    if (!t || has_known_values(t) || t.is_meta()) continue;
    const Tensor zeros = ops::new_zeros(t, self.sizes(), self.dtype(), std::nullopt, self.device());
    copy = copy ? ops::add(copy, zeros) : zeros;
  }
  return copy ? ops::copy_(copy, self) : ops::clone(self);
}

}  // namespace tl

// Whether what a gradient is computed of is differentiated again: then it is computed in operators.
#pragma once

#include "base/thread_local.h"
#include "dispatch/thread_state.h"
#include "ops/shared/known_values.h"

namespace tl {

// Whether a tensor requires a gradient and calls are recorded.
inline bool is_recorded(const Tensor& t) {
  return grad_enabled() && (t->all_bits() >> TL_LAYER_AUTOGRAD & 1);
}

// A tensor of a transform that hides no batch has a tangent, or had one: tangents need no recording.
inline bool may_have_tangent(const Tensor& t) {
  return t && !hides_batch(t) && (t->bits.load(std::memory_order_relaxed) >> TL_LAYER_TRANSFORMS & 1);
}

template <class... T>
bool is_differentiated(const T&... tensors) {
  return grad_enabled() || (may_have_tangent(tensors) || ...);
}

}  // namespace tl

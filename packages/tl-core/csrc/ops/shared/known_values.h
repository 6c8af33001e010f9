// Whether an operator made of others may look at elements to choose a quicker way.
#pragma once

#include "base/thread_local.h"
#include "dispatch/thread_state.h"
#include "ops.h"
#include "tensor/hollow.h"
#include "tensor/pending.h"
#include "tensor/tensor.h"
#include "tl/rules.h"

namespace tl {

inline bool hides_batch(const Tensor& t) {
  return t->bits.load(std::memory_order_relaxed) & TL_BIT_HIDES_BATCH;
}
// What stands for something else: its elements are read by calling operators.
inline bool stands_for_others(const Tensor& t) {
  return t->bits.load(std::memory_order_relaxed) & (TL_BIT_HIDES_BATCH | kHollowBit);
}
// Not of tensors on meta, and not of those that stand for a batch or have no memory.
inline bool has_known_values(const Tensor& t) { return !t.is_meta() && !stands_for_others(t); }
// A formula may be asked of what is computed from it: the operator keeps what that reads.
inline bool may_be_differentiated(const Tensor& t) {
  return t->autograd != nullptr || (t->bits.load(std::memory_order_relaxed) >> TL_LAYER_TRANSFORMS & 1);
}
// Whether no layer wants calls with this tensor: an operator made of others may do without them.
inline bool is_plain(const Tensor& t) {
  const ThreadLocals& thread = thread_locals();
  return !((t->all_bits() | included_layers(thread)) & ~(thread.excluded | kDeferBit)) &&
         (t.device().is_cpu() || t.is_meta());
}
// Raises where the memory of a tensor is asked for that has none, or only an example's.
inline void check_is_no_batch(const Tensor& t, const char* what) {
  TL_CHECK(!is_hollow(t), Runtime, "Cannot access data pointer of Tensor that doesn't have storage: ", what,
           " of a tensor that stands for others, made by _make_wrapper_subclass or a FakeTensorMode");
  TL_CHECK(
      !hides_batch(t), Runtime, "vmap: ", what,
      " of a tensor that stands for a batch is not possible: it has a value for each example. It looks like "
      "you're calling .item() on a Tensor or reading its memory inside of vmap");
}

// A copy to write these values into: with their batches, where a transform hides any.
template <class Values>
Tensor copy_to_write(const Tensor& self, const Values& values) {
  Tensor copy;
  const auto add_batch_of = [&](const Tensor& t) {
    const Tensor zeros = ops::new_zeros(t, self.sizes(), {.dtype = self.dtype(), .device = self.device()});
    copy = copy ? ops::add(copy, zeros) : zeros;
  };
  for (const Tensor& t : values)
    if (t && hides_batch(t)) add_batch_of(t);
  if (copy && hides_batch(self)) add_batch_of(self);
  return copy ? ops::copy_(copy, self) : ops::clone(self);
}

}  // namespace tl

#include "view.h"

#include "leaf.h"
#include "ops.h"

namespace tl::autograd {

namespace {
Edge slot_edge(TlTensor* t) {
  const void* slot = api->slot_get(t, TL_LAYER_AUTOGRAD);
  return slot ? read_slot(slot) : Edge{};
}

// Some tensor on the storage was written in a recorded call: is this one a view whose base has moved on?
Edge refreshed(TlTensor* t, Edge current) {
  if (as_leaf(current.node)) return current;
  TlTensor* base = api->tensor_view_base(t);
  if (!base) return current;
  const void* base_slot = api->slot_get(base, TL_LAYER_AUTOGRAD);
  if (!base_slot || (current.node && current.node->base_slot == base_slot)) return current;
  if (as_leaf(read_slot(base_slot).node)) return current;
  regenerate(t, base);
  return slot_edge(t);
}
}  // namespace

Edge place_of(TlTensor* t) {
  const Edge e = slot_edge(t);
  if (!(api->storage_bits_get(t) & kAutogradBit)) [[likely]]
    return e;
  return refreshed(t, e);
}

Edge gradient_edge(TlTensor* t) {
  const Edge e = place_of(t);
  const Leaf* leaf = as_leaf(e.node);
  return leaf && !leaf->requires_grad ? Edge{} : e;
}

const void* base_slot_of(TlTensor* view) {
  TlTensor* base = api->tensor_view_base(view);
  return base ? api->slot_get(base, TL_LAYER_AUTOGRAD) : nullptr;
}

void regenerate(TlTensor* view, TlTensor* base) {
  if (api->tensor_dtype(view) != api->tensor_dtype(base))
    fail(TL_ERROR_NOT_IMPLEMENTED,
         "a tensor was changed in place whose view has another dtype (view_as_real, view_as_complex, .real, "
         ".imag): autograd "
         "cannot follow that view; clone() it before the change");
  GradMode recording(true);
  Tensor again = as_strided(base, static_cast<size_t>(api->tensor_ndim(view)), api->tensor_sizes(view),
                            api->tensor_strides(view), api->tensor_offset(view));
  const Edge e = slot_edge(again.get());
  if (!e.node) fail(TL_ERROR_RUNTIME, "autograd found no derivative of as_strided");
  e.node->retain();
  set_slot(view, e.node, e.output);
}

}  // namespace tl::autograd

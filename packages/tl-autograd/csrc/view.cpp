// Views under autograd: a view of a written base gets its edge anew, from its geometry within the base.
#include "view.h"

#include <algorithm>

#include "extra.h"
#include "leaf.h"
#include "ops.h"
#include "tl/view_flags.h"
#include "view_origin.h"

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
  if (!base_slot || (current.node && current.node->base_slot_of(current.output) == base_slot)) return current;
  if (as_leaf(read_slot(base_slot).node)) return current;
  const ViewOrigin origin = view_origin(t, base, current);
  const bool recorded = origin != ViewOrigin::NoGrad && origin != ViewOrigin::Inference;
  if (!recorded && !(api->tensor_view_flags(t) & TL_VIEW_WRITTEN)) return current;
  if (origin != ViewOrigin::Plain) refuse_view(origin, current, ViewWrite::Indirect);
  regenerate(t, base);
  return slot_edge(t);
}
}  // namespace

Edge edge_of(TlTensor* t) {
  const Edge e = slot_edge(t);
  if (!(api->storage_bits_get(t) & kAutogradBit)) [[likely]]
    return e;
  return refreshed(t, e);
}

Edge gradient_edge(TlTensor* t) {
  const Edge e = edge_of(t);
  const Leaf* leaf = as_leaf(e.node);
  return leaf && !leaf->requires_grad ? Edge{} : e;
}

const void* base_slot_of(TlTensor* view) {
  TlTensor* base = api->tensor_view_base(view);
  return base ? api->slot_get(base, TL_LAYER_AUTOGRAD) : nullptr;
}

int conj_neg_bits(const TlTensor* t) { return api->tensor_marks(t); }

Geometry::Geometry(const TlTensor* t)
    : sizes(api->tensor_sizes(t), api->tensor_sizes(t) + api->tensor_ndim(t)),
      strides(api->tensor_strides(t), api->tensor_strides(t) + api->tensor_ndim(t)),
      offset(api->tensor_offset(t)),
      bits(api->tensor_marks(t)) {}

namespace {
Tensor strided(TlTensor* t, const Geometry& view, int64_t offset) {
  return as_strided(t, view.sizes.size(), view.sizes.data(), view.strides.data(), offset);
}

// The elements from `t`'s first one on, in pairs.
Tensor as_complex(TlTensor* t) {
  const int64_t bytes = TL_DTYPE_BITS(api->tensor_dtype(t)) / 8;
  const int64_t n = api->tensor_storage_bytes(t) / bytes - api->tensor_offset(t);
  const int64_t sizes[] = {n / 2, 2}, strides[] = {2, 1};
  return view_as_complex(as_strided(t, 2, sizes, strides, api->tensor_offset(t)).get());
}
Tensor unmarked_view(TlTensor* whole, int64_t base_offset, const Geometry& view, int64_t dtype) {
  const int64_t own = api->tensor_dtype(whole);
  if (own == dtype) return strided(whole, view, api->tensor_offset(whole) + view.offset - base_offset);
  const bool paired =
      TL_DTYPE_BITS(own) == 2 * TL_DTYPE_BITS(dtype) || TL_DTYPE_BITS(dtype) == 2 * TL_DTYPE_BITS(own);
  if (paired && is_complex(own) && !is_complex(dtype)) {
    Tensor pairs = view_as_real(whole);
    return strided(pairs.get(), view, api->tensor_offset(pairs.get()) + view.offset - 2 * base_offset);
  }
  const int64_t ahead = 2 * view.offset - base_offset;
  if (!paired || !is_complex(dtype) || is_complex(own) || ahead % 2 != 0)
    fail(TL_ERROR_NOT_IMPLEMENTED,
         "autograd cannot record a write through a view that reads the bits of another dtype");
  Tensor numbers = as_complex(whole);
  return strided(numbers.get(), view, api->tensor_offset(numbers.get()) + ahead / 2);
}

}  // namespace

Tensor view_by_geometry(TlTensor* whole, int64_t base_offset, const Geometry& view, int64_t dtype) {
  Tensor out = unmarked_view(whole, base_offset, view, dtype);
  const int missing = view.bits ^ api->tensor_marks(out.get());
  if (missing & TL_MARK_CONJUGATED) out = conj_view(out.get());
  if (missing & TL_MARK_NEGATED) out = neg_view(out.get());
  return out;
}

namespace {
void move_retained(Edge from, Edge to) {
  if (!from.node || !from.node->extra) return;
  auto& old = from.node->extra->retained;
  auto it = std::find_if(old.begin(), old.end(), [&](auto& r) { return r.output == from.output; });
  if (it == old.end()) return;
  extra_of(*to.node).retained.push_back({to.output, std::move(it->grad)});
  old.erase(it);
}
}  // namespace

void move_to(TlTensor* t, Edge position) {
  const Edge old = slot_edge(t);
  if (old.node) old.node->retain();  // alive until its retained gradient has moved
  position.node->retain();
  set_slot(t, position.node, position.output);
  move_retained(old, position);
  if (old.node) drop(old.node);
}

void regenerate(TlTensor* view, TlTensor* base) {
  GradMode recording(true);
  Tensor again = view_by_geometry(base, api->tensor_offset(base), Geometry(view), api->tensor_dtype(view));
  const Edge e = slot_edge(again.get());
  if (!e.node) fail(TL_ERROR_RUNTIME, "autograd found no derivative of as_strided");
  move_to(view, e);
}

}  // namespace tl::autograd

// Views under autograd: a view's place in the graph follows from its base's, and is found again after the
// base was written.
#pragma once

#include <vector>

#include "node.h"

namespace tl::autograd {

struct Geometry {
  explicit Geometry(const TlTensor* t);
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  int bits;
};

// TL_MARK_…: what has yet to be done to the elements.
int conj_neg_bits(const TlTensor* t);

// The view of `whole` that has this geometry on a storage where `whole` starts at `base_offset`. A view may
// be real and `whole` complex, or the other way round.
Tensor view_by_geometry(TlTensor* whole, int64_t base_offset, const Geometry& view, int64_t dtype);

// Where gradients of `t` go: node NULL if it doesn't require any. Borrowed.
Edge gradient_edge(TlTensor* t);
// Where `t` stands in the graph, also for a leaf that requires no gradient.
Edge edge_of(TlTensor* t);
// The slot of the base of a view, as a mark to compare.
const void* base_slot_of(TlTensor* view);
// `t` stands at `position` from now on; what retain_grad() keeps goes with it.
void move_to(TlTensor* t, Edge position);
// Derives the view's node from its base's, by geometry.
void regenerate(TlTensor* view, TlTensor* base);

}  // namespace tl::autograd

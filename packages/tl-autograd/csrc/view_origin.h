// How a view was taken, and which writes that forbids.
#pragma once

#include "node.h"

namespace tl::autograd {

// All but the first forbid to write through the view while gradients are recorded, and to use it once another
// tensor on its memory was written so.
enum class ViewOrigin { Plain, NoGrad, Inference, SeveralViews, OfFunction };

// What was written: the view itself, or its base or another view of that.
enum class ViewWrite { Direct, Indirect };

// `e` is where the view stands in the graph.
ViewOrigin view_origin(TlTensor* view, TlTensor* base, Edge e);
[[noreturn]] void refuse_view(ViewOrigin origin, Edge e, ViewWrite write);

// Whether `t` is a view that was taken without recording of a tensor that requires gradients: it has no place
// in the graph, and yet writes to it concern the base.
bool stands_for_base(TlTensor* t);
// Raises if the memory of such a view was written since it was taken: where it stands in the graph is lost.
void check_unchanged(TlTensor* t);

}  // namespace tl::autograd

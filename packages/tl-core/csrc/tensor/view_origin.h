// How a view was taken, where autograd has to know it.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// Beside TensorImpl::Flag: the view was taken under inference_mode.
inline constexpr uint16_t kInferenceView = 512;

// What views of `t` are views of: the base of `t`, or `t`. A recorded tensor whose base is not recorded is a
// base itself: a leaf that is a view, or a result that a kernel took as a view of a temporary tensor.
TensorImpl* base_for_views(TensorImpl& t);
// From now on `t` is no view: it shares the memory, and autograd does not know it.
void drop_base(TensorImpl& t);
// Whether the memory of a view that was taken without recording was written since.
bool written_since_taken(const TensorImpl& view);

}  // namespace tl

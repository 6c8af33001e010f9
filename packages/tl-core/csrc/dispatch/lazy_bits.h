// Tensors whose elements are conjugated or negated only when they are read: the layer `lazybits`.
#pragma once

#include "dispatch/operator.h"

namespace tl {

void install_lazy_bits();  // once, after the operators

// The elements written out; `t` itself if it has no marks.
Tensor resolved(const Tensor& t);

}  // namespace tl

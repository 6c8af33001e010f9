// Tensors whose elements are conjugated or negated only when they are read: the layer `lazybits`.
#pragma once

#include "dispatch/operator.h"

namespace tl {

void install_lazy_bits();  // once, after the operators

// The elements written out; `t` itself if it has no marks.
Tensor resolved(const Tensor& t);

// The view of a tensor without the conjugate bit; the elements of a tensor with one bit less. Each raises
// RuntimeError where a handler returns a tensor with that bit or a new one: it would be resolved without end.
Tensor without_conj(const Tensor& t);
Tensor resolve_conj(const Tensor& t);
Tensor resolve_neg(const Tensor& t);

}  // namespace tl

// Derivatives of singular and eigenvectors where values are equal.
#pragma once

#include "ops.h"

namespace tl {

// Of matrices that tell which pairs of vectors have a gradient of zero: the pairs that a function does not
// read, whose values may be equal. Where all are zero, nobody has asked yet: tangents are derived from such a
// gradient.
inline Tensor unread_pairs(const Tensor& zero) {
  const Tensor all = ops::all_dim(ops::all_dim(zero, -1, true), -2, true);
  return ops::logical_and(zero, ops::logical_not(all));
}

}  // namespace tl

// The tensors of an argument or a result.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace tl {

// One tensor, the elements of a list of tensors (NULL where an optional list has None), or nothing.
inline std::span<TensorImpl* const> tensors_of(const TlValue& v) {
  if (v.tag == TL_TENSOR) return {reinterpret_cast<TensorImpl* const*>(&v.u.t), 1};
  if (v.tag == TL_TENSOR_LIST) return {static_cast<TensorImpl* const*>(v.u.p), v.len};
  return {};
}

// Whether a tensor among the values has a property. `holds` takes a `const Tensor&`.
template <class F>
bool any_tensor(const TlValue* values, int n, F holds) {
  for (int i = 0; i < n; ++i)
    for (TensorImpl* const& t : tensors_of(values[i]))
      if (t && holds(reinterpret_cast<const Tensor&>(t))) return true;
  return false;
}

}  // namespace tl

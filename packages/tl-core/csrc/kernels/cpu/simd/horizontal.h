// Horizontal reduction of a vector to a scalar: log2(lanes) rotations in registers, each followed by a
// vertical operation, so the order of summation is a fixed binary tree.
#pragma once

#include <utility>

#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <int by, class V, size_t... I>
TL_INLINE V rotate_lanes(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, static_cast<int>((I + by) % sizeof...(I))...);
}

template <int half, class V, class F>
TL_INLINE V reduce_lanes(V v, F join) {
  if constexpr (half == 0) {
    return v;
  } else {
    constexpr auto lanes = std::make_index_sequence<kLanes<Lane<V>>>{};
    return reduce_lanes<half / 2>(join(v, rotate_lanes<half>(v, lanes)), join);
  }
}

// `join` takes two vectors and must be commutative and associative up to rounding.
template <class V, class F>
TL_INLINE Lane<V> horizontal_reduce(V v, F join) {
  return reduce_lanes<kLanes<Lane<V>> / 2>(v, join)[0];
}
template <class V>
TL_INLINE Lane<V> horizontal_sum(V v) {
  return horizontal_reduce(v, [](V a, V b) { return a + b; });
}
template <class V>
TL_INLINE Lane<V> horizontal_max(V v) {
  return horizontal_reduce(v, [](V a, V b) { return maximum(a, b); });
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

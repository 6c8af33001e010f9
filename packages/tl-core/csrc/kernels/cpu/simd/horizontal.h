// The lanes of a vector joined into one, by halves, in registers.
#pragma once

#include <utility>

#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <int by, class V, size_t... I>
TL_INLINE V turned_lanes(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, static_cast<int>((I + by) % sizeof...(I))...);
}

template <int half, class V, class F>
TL_INLINE V folded_lanes(V v, F join) {
  if constexpr (half == 0) {
    return v;
  } else {
    constexpr auto lanes = std::make_index_sequence<kLanes<Lane<V>>>{};
    return folded_lanes<half / 2>(join(v, turned_lanes<half>(v, lanes)), join);
  }
}

// join(x, y) of vectors.
template <class V, class F>
TL_INLINE Lane<V> folded(V v, F join) {
  return folded_lanes<kLanes<Lane<V>> / 2>(v, join)[0];
}
template <class V>
TL_INLINE Lane<V> sum_of_lanes(V v) {
  return folded(v, [](V a, V b) { return a + b; });
}
template <class V>
TL_INLINE Lane<V> largest_lane(V v) {
  return folded(v, [](V a, V b) { return maximum(a, b); });
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

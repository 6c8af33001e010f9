// The sums of the lanes of several vectors in one vector, in fewer steps than one `horizontal_sum` each.
#pragma once

#include <utility>

#include "kernels/cpu/simd/isa.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// The 2 * half lanes of a block are the terms of one sum. The result has the blocks of a, then those of b,
// each folded to half its lanes.
template <int half, class V, size_t... I>
TL_INLINE V fold_blocks(V a, V b, std::index_sequence<I...>) {
  const V low = __builtin_shufflevector(a, b, static_cast<int>(I / half * 2 * half + I % half)...);
  const V high = __builtin_shufflevector(a, b, static_cast<int>(I / half * 2 * half + I % half + half)...);
  return low + high;
}

template <int n, int half, class V>
TL_INLINE V fold_vectors(V* v) {
  if constexpr (half == 0) {
    return v[0];
  } else {
    constexpr auto lanes = std::make_index_sequence<sizeof(V) / sizeof(v[0][0])>{};
    constexpr int pairs = n > 1 ? n / 2 : 1;
#pragma GCC unroll 8
    for (int k = 0; k < pairs; ++k) v[k] = fold_blocks<half>(v[2 * k], v[n > 1 ? 2 * k + 1 : 0], lanes);
    return fold_vectors<pairs, half / 2>(v);
  }
}

// Lane k < n is the sum of the lanes of v[k], in the order of `horizontal_sum`. n is a power of two and at
// most the number of lanes. The vectors are overwritten.
template <int n, class V>
TL_INLINE V horizontal_sums(V* v) {
  constexpr int lanes = sizeof(V) / sizeof(v[0][0]);
  static_assert(n <= lanes && (n & (n - 1)) == 0);
  return fold_vectors<n, lanes / 2>(v);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// Transposing as many vectors as a vector has lanes, in registers.
#pragma once

#include <utility>

#include "kernels/cpu/memory.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// By repeated perfect shuffles.
template <class T>
struct Square {
  static constexpr int kSide = kVecBytes / static_cast<int>(sizeof(T));
  using V = Vec<T>;

  template <size_t... I>
  static TL_INLINE V zip_low(V a, V b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b,
                                   (I % 2 ? kSide + static_cast<int>(I / 2) : static_cast<int>(I / 2))...);
  }
  template <size_t... I>
  static TL_INLINE V zip_high(V a, V b, std::index_sequence<I...>) {
    return __builtin_shufflevector(
        a, b, (kSide / 2 + (I % 2 ? kSide + static_cast<int>(I / 2) : static_cast<int>(I / 2)))...);
  }

  static TL_INLINE void shuffle(V* rows) {
    V next[kSide];
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = zip_low(rows[i], rows[i + kSide / 2], std::make_index_sequence<kSide>{});
      next[2 * i + 1] = zip_high(rows[i], rows[i + kSide / 2], std::make_index_sequence<kSide>{});
    }
    for (int i = 0; i < kSide; ++i) rows[i] = next[i];
  }

  static TL_INLINE void transpose(V* rows) {
    for (int n = kSide; n > 1; n /= 2) shuffle(rows);
  }
  static TL_INLINE void transpose(char* out, int64_t out_stride, const char* in, int64_t in_stride) {
    V rows[kSide];
    for (int i = 0; i < kSide; ++i) rows[i] = read<V>(in + i * in_stride);
    transpose(rows);
    for (int i = 0; i < kSide; ++i) write(out + i * out_stride, rows[i]);
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// The running maximum of each lane and where it was: NaN is larger than any number, of equals the first
// stays, of NaNs the last.
#pragma once

#include <limits>

#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
constexpr T lowest = -std::numeric_limits<T>::infinity();

// Positions are 32 bits wide in memory, as wide as T in registers.
template <bool indexed, class T>
struct RunningMaximum {
  using V = Vec<T>;
  using M = Mask<V>;
  static constexpr int W = kLanes<T>;
  using Narrow = Pack<int32_t, W>;
  static constexpr bool kAsWide = sizeof(T) == sizeof(int32_t);
  V value = broadcast<V>(lowest<T>);
  M at = M{} - 1;

  TL_INLINE void meet(V v, M position) {
    const M larger = (v > value) | (v != v);
    value = select<V>(larger, v, value);
    if constexpr (indexed) at = larger ? position : at;
  }
  TL_INLINE void start(V v, M position) {
    value = v;
    at = position;
  }
  // In the lanes that are `used`; of each, as the first if `starts`.
  TL_INLINE void meet(V v, M position, M used, bool starts) {
    const M larger = used & ((v > value) | (v != v) | (starts ? used : M{}));
    value = select<V>(larger, v, value);
    if constexpr (indexed) at = larger ? position : at;
  }
  TL_INLINE void write(T* values, int32_t* indices, int lanes) const {
    auto* p = reinterpret_cast<char*>(values);
    if (lanes == W)
      store<T>(p, value);
    else
      store_partial<T>(p, lanes, value);
    if constexpr (indexed) {
      const Narrow narrow = __builtin_convertvector(at, Narrow);
      if (lanes == W)
        cpu::TL_ISA_NAMESPACE::write(reinterpret_cast<char*>(indices), narrow);
      else if constexpr (kAsWide)
        store_partial<int32_t>(reinterpret_cast<char*>(indices), lanes, narrow);
      else
        for (int l = 0; l < lanes; ++l) indices[l] = narrow[l];
    }
  }
  static TL_INLINE M read_indices(const int32_t* indices, int lanes) {
    if (lanes == W) return __builtin_convertvector(read<Narrow>(reinterpret_cast<const char*>(indices)), M);
    if constexpr (kAsWide) return load_partial<int32_t>(reinterpret_cast<const char*>(indices), lanes);
    M out{};
    for (int l = 0; l < lanes; ++l) out[l] = indices[l];
    return out;
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

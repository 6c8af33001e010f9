// A map along few dense rows: the taps of a vector of outputs are put together, applied to the rows at hand
// and forgotten, where a plan would cost more than it saves. Each output is computed as with a plan.
#pragma once

#include <algorithm>

#include "kernels/cpu/simd/load_store.h"
#include "kernels/cpu/spatial/resample_weights.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// The elements that lie as far from `from` as the lanes say.
template <class T>
TL_INLINE Vec<T> gather(const T* from, Mask<Vec<T>> lane) {
#if TL_ISA_LEVEL >= 4
  if constexpr (std::is_same_v<T, float>)
    return _mm512_i32gather_ps(bitcast<__m512i>(lane), from, sizeof(T));
  else
    return _mm512_i64gather_pd(bitcast<__m512i>(lane), from, sizeof(T));
#else
  Vec<T> v;
  for (int l = 0; l < kLanes<T>; ++l) v[l] = from[lane[l]];
  return v;
#endif
}

template <class T>
struct GatheredTap {
  using V = Vec<T>;
  static constexpr int W = kLanes<T>;
  int64_t first = -1;  // the element of the first lane that has this tap
  Mask<V> lane, used;  // how far from it the others lie; which lanes have the tap
  V weight;
  bool masked = false;

  using I = Lane<Mask<V>>;

  // The k-th taps of as many outputs as there are lanes, which have `n` taps each, from the first one on.
  GatheredTap(const ResampleWeights& map, int64_t tap, int64_t n) : first(map.index[tap]) {
    const int64_t* index = map.index.data() + tap;
    const double* weights = map.weight.data() + tap;
    for (int l = 0; l < W; ++l) {
      lane[l] = static_cast<I>(index[l * n] - first);
      weight[l] = static_cast<T>(weights[l * n]);
    }
  }
  // The k-th taps of outputs o, o + 1, ...
  GatheredTap(const ResampleWeights& map, int64_t o, int lanes, int64_t k) {
    alignas(sizeof(V)) I from[W] = {}, has[W] = {};
    alignas(sizeof(V)) T weights[W] = {};
    for (int l = 0; l < lanes; ++l) {
      const int64_t j = map.begin[o + l] + k;
      if (j >= map.begin[o + l + 1]) continue;
      if (first < 0) first = map.index[j];
      from[l] = static_cast<I>(map.index[j] - first);
      weights[l] = static_cast<T>(map.weight[j]);
      has[l] = -1;
    }
    for (int l = 0; l < lanes; ++l) masked |= has[l] == 0;
    lane = read<Mask<V>>(reinterpret_cast<const char*>(from));
    used = read<Mask<V>>(reinterpret_cast<const char*>(has));
    weight = read<V>(reinterpret_cast<const char*>(weights));
  }
  TL_INLINE V fetch(const T* row) const { return gather(row + first, lane); }
  TL_INLINE Mask<V> position() const { return lane + static_cast<Lane<Mask<V>>>(first); }
};

// For outputs begin..end of each row: add(sum, tap, row, whether it is the first tap) for its taps, then
// done(sum, row, output, lanes).
template <class T, class Sum, class Add, class Done>
void gather_rows(const ResampleWeights& map, int64_t begin, int64_t end, int64_t rows, Add add, Done done) {
  constexpr int64_t kRows = 8;
  for (int64_t o = begin; o < end; o += kLanes<T>) {
    const int lanes = static_cast<int>(std::min<int64_t>(kLanes<T>, end - o));
    int64_t most = 0, least = INT64_MAX;
    for (int l = 0; l < lanes; ++l) {
      const int64_t taps = map.begin[o + l + 1] - map.begin[o + l];
      most = std::max(most, taps);
      least = std::min(least, taps);
    }
    const bool alike = lanes == kLanes<T> && most == least;
    for (int64_t r = 0; r < rows; r += kRows) {
      const int64_t n = std::min(kRows, rows - r);
      Sum sums[kRows];
      for (int64_t k = 0; k < most; ++k) {
        const auto tap =
            alike ? GatheredTap<T>(map, map.begin[o] + k, most) : GatheredTap<T>(map, o, lanes, k);
        for (int64_t i = 0; i < n; ++i) add(sums[i], tap, r + i, k == 0);
      }
      for (int64_t i = 0; i < n; ++i) done(sums[i], r + i, o, lanes);
    }
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

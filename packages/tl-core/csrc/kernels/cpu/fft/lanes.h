// Complex numbers in memory, which are pairs of real ones, from and to the lanes of vectors.
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/cpu/fft/butterflies.h"
#include "kernels/cpu/simd/transpose.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// An inverse transform is a forward one of numbers whose parts are exchanged.
template <class T>
TL_INLINE Complexes<T> exchanged(Complexes<T> a, bool inverse) {
  return inverse ? Complexes<T>{a.im, a.re} : a;
}

template <class T, size_t... I>
TL_INLINE Complexes<T> deinterleaved(Vec<T> a, Vec<T> b, std::index_sequence<I...>) {
  return {__builtin_shufflevector(a, b, static_cast<int>(2 * I)...),
          __builtin_shufflevector(a, b, static_cast<int>(2 * I + 1)...)};
}
template <class T, size_t... I>
TL_INLINE Vec<T> interleaved_low(Complexes<T> a, std::index_sequence<I...>) {
  return __builtin_shufflevector(a.re, a.im, static_cast<int>((I % 2 ? kLanes<T> : 0) + I / 2)...);
}
template <class T, size_t... I>
TL_INLINE Vec<T> interleaved_high(Complexes<T> a, std::index_sequence<I...>) {
  constexpr int W = kLanes<T>;
  return __builtin_shufflevector(a.re, a.im, static_cast<int>(W / 2 + (I % 2 ? W : 0) + I / 2)...);
}
template <class T, size_t... I>
TL_INLINE Vec<T> reversed(Vec<T> a, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, a, static_cast<int>(kLanes<T> - 1 - I)...);
}

// Consecutive numbers, one a lane.
template <class T>
TL_INLINE Complexes<T> load_consecutive(const T* p, int count) {
  constexpr int W = kLanes<T>;
  const char* at = reinterpret_cast<const char*>(p);
  Vec<T> low, high;
  if (count == W) {
    low = load<T>(at);
    high = load<T>(at + sizeof(Vec<T>));
  } else {
    low = load_partial<T>(at, std::min(2 * count, W));
    high = 2 * count > W ? load_partial<T>(at + sizeof(Vec<T>), 2 * count - W) : Vec<T>{};
  }
  return deinterleaved<T>(low, high, std::make_index_sequence<W>{});
}
template <class T>
TL_INLINE void store_consecutive(T* p, int count, Complexes<T> a) {
  constexpr int W = kLanes<T>;
  char* at = reinterpret_cast<char*>(p);
  const Vec<T> low = interleaved_low<T>(a, std::make_index_sequence<W>{});
  const Vec<T> high = interleaved_high<T>(a, std::make_index_sequence<W>{});
  if (count == W) {
    store<T>(at, low);
    store<T>(at + sizeof(Vec<T>), high);
  } else {
    store_partial<T>(at, std::min(2 * count, W), low);
    if (2 * count > W) store_partial<T>(at + sizeof(Vec<T>), 2 * count - W, high);
  }
}

// One number for each lane, from or to anywhere.
template <class T>
Complexes<T> gather(const T* const* lanes, int count, int64_t offset) {
  alignas(64) T re[kLanes<T>] = {}, im[kLanes<T>] = {};
  for (int l = 0; l < count; ++l) {
    re[l] = lanes[l][offset];
    im[l] = lanes[l][offset + 1];
  }
  return {read<Vec<T>>(reinterpret_cast<const char*>(re)), read<Vec<T>>(reinterpret_cast<const char*>(im))};
}
template <class T>
void scatter(T* const* lanes, int count, int64_t offset, Complexes<T> a) {
  alignas(64) T re[kLanes<T>], im[kLanes<T>];
  write(reinterpret_cast<char*>(re), a.re);
  write(reinterpret_cast<char*>(im), a.im);
  for (int l = 0; l < count; ++l) {
    lanes[l][offset] = re[l];
    lanes[l][offset + 1] = im[l];
  }
}

// Lanes whose numbers are consecutive: blocks of a vector from each are transposed in registers.
template <class T>
void load_dense(const T* const* lanes, int count, int64_t n, bool inverse, Complexes<T>* x) {
  constexpr int W = kLanes<T>, kBlock = W / 2;
  Vec<T> rows[W];
  for (int64_t j = 0; j < n; j += kBlock) {
    const int left = static_cast<int>(std::min<int64_t>(kBlock, n - j));
    for (int l = 0; l < W; ++l) {
      const char* at = reinterpret_cast<const char*>(lanes[l < count ? l : 0] + 2 * j);
      rows[l] = left == kBlock ? load<T>(at) : load_partial<T>(at, 2 * left);
    }
    RegisterTranspose<T>::transpose(rows);
    for (int i = 0; i < left; ++i) x[j + i] = exchanged<T>({rows[2 * i], rows[2 * i + 1]}, inverse);
  }
}
template <class T>
void store_dense(T* const* lanes, int count, int64_t n, bool inverse, T scale, const Complexes<T>* x) {
  constexpr int W = kLanes<T>, kBlock = W / 2;
  Vec<T> rows[W];
  for (int64_t j = 0; j < n; j += kBlock) {
    const int left = static_cast<int>(std::min<int64_t>(kBlock, n - j));
    for (int i = 0; i < kBlock; ++i) {
      const Complexes<T> a = i < left ? scaled(exchanged(x[j + i], inverse), scale) : Complexes<T>{};
      rows[2 * i] = a.re;
      rows[2 * i + 1] = a.im;
    }
    RegisterTranspose<T>::transpose(rows);
    for (int l = 0; l < count; ++l) {
      char* at = reinterpret_cast<char*>(lanes[l] + 2 * j);
      left == kBlock ? store<T>(at, rows[l]) : store_partial<T>(at, 2 * left, rows[l]);
    }
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

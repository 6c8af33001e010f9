// Stockham's autosort passes: the first takes its numbers from a function of their index, the last gives them
// to one.
#pragma once

#include <algorithm>

#include "kernels/cpu/fft/butterflies.h"
#include "kernels/cpu/fft/plan.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
struct FromBuffer {
  const Complexes<T>* x;
  TL_INLINE Complexes<T> operator()(int64_t i) const { return x[i]; }
};
template <class T>
struct ToBuffer {
  Complexes<T>* y;
  TL_INLINE void operator()(int64_t i, Complexes<T> a) const { y[i] = a; }
};

// Where a pass stands in its plan. The first has s = 1, and the last has m = 1, so it needs no factors.
enum class Position { Only, First, Last, Anywhere };
constexpr bool is_first(Position position) {
  return position == Position::Only || position == Position::First;
}
constexpr bool is_last(Position position) { return position == Position::Only || position == Position::Last; }

template <Position position, int R, class T, class Load, class Store>
void pass(const FftPass& f, const T* twiddles, Load load, Store store) {
  const int64_t s = is_first(position) ? 1 : f.s, m = is_last(position) ? 1 : f.m, apart = s * m;
  for (int64_t q = 0; q < s; ++q) {
    Complexes<T> a[R];
    for (int j = 0; j < R; ++j) a[j] = load(q + apart * j);
    butterfly<R>(a);
    for (int k = 0; k < R; ++k) store(q + s * k, a[k]);
  }
  if constexpr (is_last(position)) return;
  for (int64_t p = 1; p < m; ++p) {
    const T* w = twiddles + f.twiddles + p * 2 * (R - 1);
    for (int64_t q = 0; q < s; ++q) {
      Complexes<T> a[R];
      for (int j = 0; j < R; ++j) a[j] = load(q + s * p + apart * j);
      butterfly<R>(a);
      const int64_t to = q + s * R * p;
      store(to, a[0]);
      for (int k = 1; k < R; ++k) store(to + s * k, times(a[k], w[2 * (k - 1)], w[2 * (k - 1) + 1]));
    }
  }
}

template <class T, class Load, class Store>
void odd_pass(const FftPass& f, const FftPlan<T>& plan, Load load, Store store) {
  const int r = f.radix;
  const T* roots = plan.roots.data() + plan.root_of[r];
  for (int64_t p = 0; p < f.m; ++p) {
    const T* w = plan.twiddles.data() + f.twiddles + p * 2 * (r - 1);
    for (int64_t q = 0; q < f.s; ++q) {
      Complexes<T> a[31];
      for (int j = 0; j < r; ++j) a[j] = load(q + f.s * (p + f.m * j));
      odd_butterfly(r, roots, a);
      const int64_t to = q + f.s * r * p;
      store(to, a[0]);
      for (int k = 1; k < r; ++k) store(to + f.s * k, times(a[k], w[2 * (k - 1)], w[2 * (k - 1) + 1]));
    }
  }
}

// The radices 2 and 4 are of last passes alone.
template <Position position, class T, class Load, class Store>
void one_pass(const FftPlan<T>& plan, const FftPass& f, Load load, Store store) {
  const T* w = plan.twiddles.data();
  if constexpr (position != Position::First) {
    if (f.radix == 2) return pass<position, 2>(f, w, load, store);
    if (f.radix == 4) return pass<position, 4>(f, w, load, store);
  }
  switch (f.radix) {
    case 3:
      return pass<position, 3>(f, w, load, store);
    case 5:
      return pass<position, 5>(f, w, load, store);
    case 8:
      return pass<position, 8>(f, w, load, store);
    case 16:
      return pass<position, 16>(f, w, load, store);
    default:
      return odd_pass(f, plan, load, store);
  }
}

// All passes of a plan; x and y are buffers of its length.
template <class T, class Load, class Store>
void run_passes(const FftPlan<T>& plan, Complexes<T>* x, Complexes<T>* y, Load load, Store store) {
  const size_t count = plan.passes.size();
  if (count == 0) return store(0, load(0));
  if (count == 1) return one_pass<Position::Only>(plan, plan.passes[0], load, store);
  one_pass<Position::First>(plan, plan.passes[0], load, ToBuffer<T>{x});
  for (size_t i = 1; i + 1 < count; ++i) {
    one_pass<Position::Anywhere>(plan, plan.passes[i], FromBuffer<T>{x}, ToBuffer<T>{y});
    std::swap(x, y);
  }
  one_pass<Position::Last>(plan, plan.passes[count - 1], FromBuffer<T>{x}, store);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

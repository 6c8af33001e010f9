// Online softmax of a tile's rows (Milakov and Gimelshein, 2018).
#pragma once

#include "kernels/cpu/attention/scores.h"
#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/vec_math.h"
#if TL_ISA_LEVEL >= 4
#include "kernels/cpu/gemm/split_bf16.h"
#endif

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {  // a part of attention.cpp

#if TL_ISA_LEVEL >= 4
// 2^(x - 1/2), the whole part of x by the instruction that scales; no more exact than a factor can hold.
template <class F>
TL_INLINE VecF power(VecF x) {
  constexpr int kFraction = 1;  // what is left above the whole number below
  const VecF r = _mm512_reduce_ps(x, kFraction);
  VecF p;
  if constexpr (std::is_same_v<F, BFloat16>)
    p = polynomial(r, 0x1.c3f762p-5f, 0x1.476154p-3f, 0x1.f7d65ap-2f, 0x1.6a02f8p-1f);
  else
    p = polynomial(r, 0x1.41d334p-13f, 0x1.cd2c6ep-11f, 0x1.c086d6p-8f, 0x1.4164d4p-5f, 0x1.5be3d4p-3f,
                   0x1.f5e45cp-2f, 0x1.6a09e6p-1f);
  const __mmask16 normal = _mm512_cmp_ps_mask(x, VecF{} - 125.0f, _CMP_NLT_UQ);  // a NaN stays
  return _mm512_maskz_scalef_ps(normal, p, x);
}
#endif

// exp(factor x - shift), also where scores are the least numbers there are, as masks make them.
template <class F>
TL_INLINE Vec<OpMath<F>> exponential(Vec<OpMath<F>> x, OpMath<F> factor, OpMath<F> shift) {
  using V = Vec<OpMath<F>>;
#if TL_ISA_LEVEL >= 4
  constexpr float log2_e = 0x1.715476p0f;
  if constexpr (std::is_same_v<V, VecF>)
    return power<F>(fma(fma(x, V{} + factor, V{} - shift), V{} + log2_e, V{} + 0.5f));
#endif
  return exp(fma(x, V{} + factor, V{} - shift));
}

// A row of factors: over its scores, or packed as AMX tiles of 16 rows.
template <class F>
struct FactorRow {
  using A = OpMath<F>;
  static constexpr int64_t kTileElements = 256,
                           kPair = std::is_same_v<F, BFloat16> ? kTileElements : 3 * kTileElements;
  A* row;
  float* squares;

  // Where row i of so many pairs of vectors begins.
  static float* within(char* packed, int64_t i, int64_t pairs) {
    return reinterpret_cast<float*>(packed) + i / 16 * pairs * kPair + i % 16 * 16;
  }

  TL_NARROWS TL_INLINE void put(int64_t pair, Vec<A> x, Vec<A> y) const {
#if TL_ISA_LEVEL >= 4
    if constexpr (std::is_same_v<A, float>) {
      if (squares) return put_in_squares(squares + pair * kPair, Term(x), Term(y));
    }
#endif
    constexpr int64_t bytes = kLanes<A> * sizeof(F);
    char* to = reinterpret_cast<char*>(row) + pair * 2 * bytes;
    store<F>(to, x);
    store<F>(to + bytes, y);
  }

#if TL_ISA_LEVEL >= 4
  using Term = std::conditional_t<std::is_same_v<F, BFloat16>, VecF, SplitBf16<false>>;
  TL_NARROWS TL_INLINE static void put_in_squares(float* to, VecF x, VecF y) {
    _mm512_storeu_ps(to, reinterpret_cast<__m512>(_mm512_cvtne2ps_pbh(y, x)));
  }
  TL_INLINE static void put_in_squares(float* to, const SplitBf16<false>& x, const SplitBf16<false>& y) {
    store_pairs<false>(x, y, to, kTileElements);
  }
#endif
};

// Replaces a row of scores by exponentials and applies the dropout mask. Returns their sum before dropout.
template <class F>
TL_NARROWS OpMath<F> exponentials(int64_t pairs, OpMath<F> factor, OpMath<F> shift, const char* dropout_mask,
                                  OpMath<F> dropout_scale, FactorRow<F> to) {
  using A = OpMath<F>;
  constexpr int64_t W = kLanes<A>;
  Vec<A> total{}, more{};
  for (int64_t k = 0; k < pairs; ++k) {
    auto x = exponential<F>(at(to.row, 2 * k), factor, shift),
         y = exponential<F>(at(to.row, 2 * k + 1), factor, shift);
    total += x;
    more += y;
    if (dropout_mask) {
      x = select<Vec<A>>(load<bool, A>(dropout_mask + 2 * k * W), x * dropout_scale, Vec<A>{});
      y = select<Vec<A>>(load<bool, A>(dropout_mask + (2 * k + 1) * W), y * dropout_scale, Vec<A>{});
    }
    to.put(k, x, y);
  }
  return horizontal_sum(total + more);
}

template <class V>
TL_INLINE V larger(V best, V x) {  // a NaN shows in its exponential
#if TL_ISA_LEVEL >= 4
  if constexpr (std::is_same_v<V, VecF>) return _mm512_max_ps(x, best);
#endif
  return select<V>(best < x, x, best);
}
template <class A>
A largest(const A* row, int64_t pairs) {
  using V = Vec<A>;
  V best[2] = {V{} - std::numeric_limits<A>::infinity(), V{} - std::numeric_limits<A>::infinity()};
  for (int64_t k = 0; k < 2 * pairs; k += 2)
    best[0] = larger(best[0], at(row, k)), best[1] = larger(best[1], at(row, k + 1));
  return horizontal_reduce(larger(best[0], best[1]), [](V a, V b) { return larger(a, b); });
}

// The running maxima and sums of a tile's rows.
template <class A>
struct OnlineSoftmaxState {
  A row_max[kQueries], sums[kQueries];

  void clear() {
    for (A& top : row_max) top = -std::numeric_limits<A>::infinity();
    for (A& sum : sums) sum = 0;
  }
  // Goes on from row i to block_max; rescale are for what was summed before.
  void raise(int64_t i, int64_t rows, A* block_max, A* rescale, A* shifts) {
    using V = Vec<A>;
    constexpr A infinity = std::numeric_limits<A>::infinity();
    for (int64_t k = 0; k * kLanes<A> < rows; ++k) {
      const V top = at(row_max + i, k), higher = larger(top, at(block_max, k)),
              shift = select<V>(higher == -infinity, V{}, higher), decay = exp(top - shift);
      set(row_max + i, k, higher);
      set(shifts, k, shift);
      set(rescale, k, decay);
      set(sums + i, k, at(sums + i, k) * decay);
    }
  }
};

template <class A>
void scale_row(A* row, int64_t n, A factor) {
  for (int64_t j = 0; j < n; ++j) row[j] *= factor;
}

}  // namespace

}  // namespace tl::cpu::TL_ISA_NAMESPACE

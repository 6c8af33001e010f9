// isa: all
// Pairwise p-norm distances: one row against vectors of columns, an accumulator per vector.
#include "kernels/cpu/linalg/cdist.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

enum class Norm { Zero, One, Two, Inf, Power };

Norm norm_of(double p) {
  return p == 0          ? Norm::Zero
         : p == 1        ? Norm::One
         : p == 2        ? Norm::Two
         : std::isinf(p) ? Norm::Inf
                         : Norm::Power;
}

template <Norm norm, class V>
TL_INLINE V accumulate(V sum, V difference, Lane<V> p) {
  if constexpr (norm == Norm::Zero) return sum + select<V>(difference != 0, V{} + 1, V{});
  if constexpr (norm == Norm::One) return sum + abs(difference);
  if constexpr (norm == Norm::Two) return fma(difference, difference, sum);
  if constexpr (norm == Norm::Inf) return maximum(sum, abs(difference));
  if constexpr (norm == Norm::Power) return sum + pow(abs(difference), broadcast<V>(p));
}

// To `vectors` vectors of others, of which `count` are there; they lie as columns, `stride` apart.
template <Norm norm, int vectors, class T>
TL_INLINE void distance_block(const CdistShape& s, const T* row, const T* others, int64_t count, T* out) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  const T p = static_cast<T>(s.p);
  V sums[vectors] = {};
  for (int64_t i = 0; i < s.width; ++i)
    for (int v = 0; v < vectors; ++v)
      sums[v] =
          accumulate<norm>(sums[v], row[i] - load_some(others + i * s.others + v * W, count - v * W), p);
  for (int v = 0; v < vectors; ++v) {
    if constexpr (norm == Norm::Two) sums[v] = sqrt(sums[v]);
    if constexpr (norm == Norm::Power) sums[v] = pow(sums[v], broadcast<V>(1 / p));
    store_some(out + v * W, count - v * W, sums[v]);
  }
}

template <Norm norm, class T>
void distances_row(const CdistShape& s, const T* row, const T* others, int64_t first, T* out) {
  constexpr int W = kLanes<T>, kVectors = norm == Norm::One || norm == Norm::Two ? 4 : 1;
  int64_t j = first;
  for (; j + kVectors * W <= s.others; j += kVectors * W)
    distance_block<norm, kVectors>(s, row, others + j, kVectors * W, out + j - first);
  for (; j < s.others; j += W) distance_block<norm, 1>(s, row, others + j, s.others - j, out + j - first);
}

template <class F>
void parallel_rows(const CdistShape& s, F f) {
  const int64_t work = std::max<int64_t>(1, s.others * s.width);
  parallel_for(0, s.batch * s.rows, std::max<int64_t>(1, 32768 / work), [&](int64_t b, int64_t e) {
    for (int64_t r = b; r < e; ++r) f(r / s.rows, r % s.rows);
  });
}

template <class T>
void distances(const CdistShape& s, char* out, const char* rows, const char* others) {
  const Norm norm = norm_of(s.p);
  const auto run = norm == Norm::Zero  ? &distances_row<Norm::Zero, T>
                   : norm == Norm::One ? &distances_row<Norm::One, T>
                   : norm == Norm::Two ? &distances_row<Norm::Two, T>
                   : norm == Norm::Inf ? &distances_row<Norm::Inf, T>
                                       : &distances_row<Norm::Power, T>;
  parallel_rows(s, [&](int64_t n, int64_t r) {
    const int64_t first = s.first_other(r);
    run(s, reinterpret_cast<const T*>(rows) + (n * s.rows + r) * s.width,
        reinterpret_cast<const T*>(others) + n * s.width * s.others, first,
        reinterpret_cast<T*>(out) + n * s.per_batch() + s.pair(r, first));
  });
}

// What a pair's gradient is multiplied by: zero where the distance is, one of the subgradients.
template <Norm norm, class T>
TL_INLINE T share_of(T grad, T distance, T p) {
  if (distance == 0) return T(0);
  if constexpr (norm == Norm::Two) return grad / distance;
  if constexpr (norm == Norm::Power) return grad / std::pow(distance, p - 1);
  return grad;
}

template <Norm norm, class V>
TL_INLINE V add_share(V sum, V difference, Lane<V> share, Lane<V> p) {
  if constexpr (norm == Norm::Two) return fma(difference, broadcast<V>(share), sum);
  V size = broadcast<V>(share);
  if constexpr (norm == Norm::Power) size *= pow(abs(difference), broadcast<V>(p - 1));
  return sum + (select<V>(difference > 0, size, V{}) - select<V>(difference < 0, size, V{}));
}

// What is there of each pair.
template <class T>
struct PairValues {
  const T *distances, *grad;
};

// `vectors` vectors of one row's gradient from component `i`: a pair's share is computed once for all of
// them.
template <Norm norm, int vectors, class T>
TL_INLINE void backward_block(const CdistShape& s, int64_t r, int64_t i, T* out, const T* row,
                              const T* others, const PairValues<T>& values) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  const T p = static_cast<T>(s.p);
  const int64_t count = s.width - i;
  V own[vectors], sums[vectors] = {};
  for (int v = 0; v < vectors; ++v) own[v] = load_some(row + i + v * W, count - v * W);
  for (int64_t j = s.first_other(r); j < s.end_other(r); ++j) {
    const int64_t pair = s.pair(r, j);
    const T share = share_of<norm>(values.grad[pair], values.distances[pair], p);
    const T* other = others + j * s.width + i;
    for (int v = 0; v < vectors; ++v)
      sums[v] = add_share<norm>(sums[v], own[v] - load_some(other + v * W, count - v * W), share, p);
  }
  for (int v = 0; v < vectors; ++v) store_some(out + i + v * W, count - v * W, sums[v]);
}

template <Norm norm, class T>
void backward_row(const CdistShape& s, int64_t r, T* out, const T* row, const T* others,
                  const PairValues<T>& values) {
  constexpr int W = kLanes<T>, kVectors = norm == Norm::Power ? 1 : 4;
  int64_t i = 0;
  for (; i + kVectors * W <= s.width; i += kVectors * W)
    backward_block<norm, kVectors>(s, r, i, out, row, others, values);
  for (; i < s.width; i += W) backward_block<norm, 1>(s, r, i, out, row, others, values);
}

template <class T>
void backward(const CdistShape& s, char* out, const char* rows, const char* others, const char* distances,
              const char* grad) {
  const Norm norm = norm_of(s.p);
  const auto run = norm == Norm::One   ? &backward_row<Norm::One, T>
                   : norm == Norm::Two ? &backward_row<Norm::Two, T>
                                       : &backward_row<Norm::Power, T>;
  parallel_rows(s, [&](int64_t n, int64_t r) {
    const int64_t row = (n * s.rows + r) * s.width, pairs = n * s.per_batch();
    run(s, r, reinterpret_cast<T*>(out) + row, reinterpret_cast<const T*>(rows) + row,
        reinterpret_cast<const T*>(others) + n * s.others * s.width,
        {reinterpret_cast<const T*>(distances) + pairs, reinterpret_cast<const T*>(grad) + pairs});
  });
}

}  // namespace

extern const DistanceKernels distance_tables[2] = {{&distances<float>, &backward<float>},
                                                   {&distances<double>, &backward<double>}};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const DistanceKernels distance_tables[2])

namespace tl::cpu {

const DistanceKernels& distance_kernels(DType dtype) {
  return TL_SELECT(distance_tables)[dtype == DType::Float64];
}

}  // namespace tl::cpu
#endif

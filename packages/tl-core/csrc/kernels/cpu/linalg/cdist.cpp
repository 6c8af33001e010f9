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
    run(s, reinterpret_cast<const T*>(rows) + (n * s.rows + r) * s.width,
        reinterpret_cast<const T*>(others) + n * s.width * s.others, s.later ? r + 1 : 0,
        reinterpret_cast<T*>(out) + n * s.rows * s.others + s.before(r));
  });
}

// Zero where the distance or the difference is: one of the subgradients.
template <Norm norm, class T>
void backward_row(const CdistShape& s, T* out, const T* row, const T* others, const T* distances,
                  const T* grad) {
  using V = Vec<T>;
  const T p = static_cast<T>(s.p);
  for (int64_t i = 0; i < s.width; i += kLanes<T>) {
    V sum{};
    for (int64_t j = 0; j < s.others; ++j) {
      const V d = load_some(row + i, s.width - i) - load_some(others + j * s.width + i, s.width - i);
      const T share = distances[j] == 0     ? T(0)
                      : norm == Norm::Two   ? grad[j] / distances[j]
                      : norm == Norm::Power ? grad[j] / std::pow(distances[j], p - 1)
                                            : grad[j];
      if constexpr (norm == Norm::Two) {
        sum = fma(d, broadcast<V>(share), sum);
      } else {
        V size = broadcast<V>(share);
        if constexpr (norm == Norm::Power) size *= pow(abs(d), broadcast<V>(p - 1));
        sum += select<V>(d > 0, size, V{}) - select<V>(d < 0, size, V{});
      }
    }
    store_some(out + i, s.width - i, sum);
  }
}

template <class T>
void backward(const CdistShape& s, char* out, const char* rows, const char* others, const char* distances,
              const char* grad) {
  const Norm norm = norm_of(s.p);
  const auto run = norm == Norm::One   ? &backward_row<Norm::One, T>
                   : norm == Norm::Two ? &backward_row<Norm::Two, T>
                                       : &backward_row<Norm::Power, T>;
  parallel_rows(s, [&](int64_t n, int64_t r) {
    const int64_t row = n * s.rows + r;
    run(s, reinterpret_cast<T*>(out) + row * s.width, reinterpret_cast<const T*>(rows) + row * s.width,
        reinterpret_cast<const T*>(others) + n * s.others * s.width,
        reinterpret_cast<const T*>(distances) + row * s.others,
        reinterpret_cast<const T*>(grad) + row * s.others);
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

// isa: all, by hand
// Weight-only products: bounded by the memory of the weight if a has few rows, so the weight is read once for
// four of them, several streams at a time.
#include "kernels/cpu/gemm/weight_only.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/bytes.h"
#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int kMostRows = 4, kStreams = 4;
constexpr int64_t kAhead = 1024;  // bytes that are prefetched before they are read

TL_INLINE VecF signed_numbers(const int8_t* w) {
#if TL_ISA_LEVEL >= 4
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w))));
#elif TL_ISA_LEVEL >= 3
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(w))));
#else
  return __builtin_convertvector(vector_at<SignedBytes>(w), VecF);
#endif
}

// M rows of a against S rows of w.
template <int M, int S>
void int8_tile(const WeightOnlyInt8& p, int64_t row, int64_t column) {
  const float* a = p.a + row * p.k;
  const int8_t* w = p.w + column * p.k;
  VecF sums[M][S] = {};
  int64_t q = 0;
  for (; q + kLanesI <= p.k; q += kLanesI) {
    VecF x[M];
    for (int i = 0; i < M; ++i) x[i] = vector_at<VecF>(a + i * p.k + q);
    for (int s = 0; s < S; ++s) {
      const int8_t* at = w + s * p.k + q;
      if (q % 64 == 0) __builtin_prefetch(at + kAhead);
      const VecF y = signed_numbers(at);
      for (int i = 0; i < M; ++i) sums[i][s] = fma(x[i], y, sums[i][s]);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int s = 0; s < S; ++s) {
      float sum = horizontal_sum(sums[i][s]);
      for (int64_t r = q; r < p.k; ++r) sum += a[i * p.k + r] * static_cast<float>(w[s * p.k + r]);
      p.c[(row + i) * p.n + column + s] = sum * p.scales[column + s];
    }
}

template <int S>
void int8_rows(const WeightOnlyInt8& p, int64_t column) {
  int64_t i = 0;
  for (; i + kMostRows <= p.m; i += kMostRows) int8_tile<kMostRows, S>(p, i, column);
  if (i + 2 <= p.m) int8_tile<2, S>(p, i, column), i += 2;
  if (i < p.m) int8_tile<1, S>(p, i, column);
}

void int8(const WeightOnlyInt8& p) {
  const int64_t tasks = (p.n + kStreams - 1) / kStreams;
  parallel_for(0, tasks, (1 << 17) / (p.m * p.k * kStreams + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin * kStreams; j < std::min(p.n, end * kStreams); j += kStreams) {
      if (p.n - j >= kStreams)
        int8_rows<kStreams>(p, j);
      else
        for (int64_t c = j; c < p.n; ++c) int8_rows<1>(p, c);
    }
  });
}

// ---- four bits --------------------------------------------------------------------------------------------

constexpr int kColumns = 16, kVectors = kColumns / kLanesI, kTerms = 8;  // of a panel; of a word

// The number of the lowest four bits of each word, less 8.
TL_INLINE VecF nibbles(VecI words) {
#if TL_ISA_LEVEL >= 4
  const __m512 table = _mm512_set_ps(7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3, -4, -5, -6, -7, -8);
  return _mm512_permutexvar_ps(bitcast<__m512i>(words), table);
#else
  return __builtin_convertvector((words & 15) - 8, VecF);
#endif
}

// Sums of a over each group of terms, [row][group].
void sum_groups(const WeightOnlyInt4& p, float* sums) {
  for (int64_t g = 0; g < p.m * (p.k / p.group); ++g) {
    float sum = 0;
    for (int64_t q = 0; q < p.group; ++q) sum += p.a[g * p.group + q];
    sums[g] = sum;
  }
}

// M rows of a against P panels.
template <int M, int P>
void int4_tile(const WeightOnlyInt4& p, const float* group_sums, int64_t row, int64_t panel) {
  constexpr int V = P * kVectors;
  const int64_t groups = p.k / p.group, words = p.k / kTerms * kColumns;
  const auto* w = reinterpret_cast<const int32_t*>(p.packed) + panel * words;
  const float* a = p.a + row * p.k;
  VecF totals[M][V] = {};
  for (int64_t g = 0; g < groups; ++g) {
    VecF sums[M][V] = {};
    for (int64_t q = g * p.group; q < (g + 1) * p.group; q += kTerms) {
      for (int v = 0; v < V; ++v) {
        const int32_t* at = w + v / kVectors * words + q / kTerms * kColumns + v % kVectors * kLanesI;
        __builtin_prefetch(at + 2 * kAhead / 4);
        VecI word = vector_at<VecI>(at);
        for (int t = 0; t < kTerms; ++t, word >>= 4) {
          const VecF y = nibbles(word);
          for (int i = 0; i < M; ++i) sums[i][v] = fma(VecF{} + a[i * p.k + q + t], y, sums[i][v]);
        }
      }
    }
    const float* factors = p.scales_and_zeros + (g * p.n + panel * kColumns) * 2;
    for (int v = 0; v < V; ++v) {
      VecF scale, zero;
      for (int e = 0; e < kLanesI; ++e) {
        scale[e] = factors[(v * kLanesI + e) * 2];
        zero[e] = factors[(v * kLanesI + e) * 2 + 1];
      }
      for (int i = 0; i < M; ++i) {
        const VecF x = VecF{} + group_sums[(row + i) * groups + g];
        totals[i][v] = fma(sums[i][v], scale, fma(x, zero, totals[i][v]));
      }
    }
  }
  for (int i = 0; i < M; ++i)
    for (int v = 0; v < V; ++v)
      write(reinterpret_cast<char*>(p.c + (row + i) * p.n + panel * kColumns + v * kLanesI), totals[i][v]);
}

template <int P>
void int4_rows(const WeightOnlyInt4& p, const float* group_sums, int64_t panel) {
  constexpr int M = P > 1 ? 2 : kMostRows;  // as many sums as registers hold
  int64_t i = 0;
  for (; i + M <= p.m; i += M) int4_tile<M, P>(p, group_sums, i, panel);
  for (; i < p.m; ++i) int4_tile<1, P>(p, group_sums, i, panel);
}

void int4(const WeightOnlyInt4& p) {
  constexpr int P = TL_ISA_LEVEL >= 4 ? 4 : 1;
  Workspace<float> sums(p.m * (p.k / p.group));
  sum_groups(p, sums.data());
  const int64_t panels = p.n / kColumns, tasks = (panels + P - 1) / P;
  parallel_for(0, tasks, (1 << 17) / (p.m * p.k * kColumns * P + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin * P; j < std::min(panels, end * P); j += P) {
      if (panels - j >= P)
        int4_rows<P>(p, sums.data(), j);
      else
        for (int64_t c = j; c < panels; ++c) int4_rows<1>(p, sums.data(), c);
    }
  });
}

}  // namespace

extern const WeightOnlyFunctions weight_only_functions = {&int8, &int4};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const WeightOnlyFunctions weight_only_functions)

namespace tl::cpu {

void multiply_int8_weight(const WeightOnlyInt8& product) { TL_SELECT(weight_only_functions).int8(product); }
void multiply_int4_weight(const WeightOnlyInt4& product) { TL_SELECT(weight_only_functions).int4(product); }

void pack_int4(const int32_t* values, int64_t n, int64_t k, uint8_t* packed) {
  constexpr int64_t kColumns = 16, kTerms = 8;
  const int64_t whole = k / kTerms * kTerms;
  parallel_for(0, n / kColumns, (1 << 15) / (k * kColumns + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      uint8_t* to = packed + panel * kColumns * k / 2;
      const auto byte = [&](int64_t column, int64_t q) {
        const int32_t* row = values + (panel * kColumns + column) * k + q;
        return static_cast<uint8_t>((row[0] & 15) | (row[1] & 15) << 4);
      };
      for (int64_t q = 0; q < whole; q += kTerms)
        for (int64_t c = 0; c < kColumns; ++c)
          for (int64_t t = 0; t < kTerms; t += 2) *to++ = byte(c, q + t);
      for (int64_t q = whole; q < k; q += 2)
        for (int64_t c = 0; c < kColumns; ++c) *to++ = byte(c, q);
    }
  });
}

}  // namespace tl::cpu
#endif

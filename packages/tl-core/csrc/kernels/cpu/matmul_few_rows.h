// Products of a few rows with columns whose rows are dense: these are read once and in the order they lie in,
// as the product takes as long as that.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/cpu_capability.h"
#include "base/parallel.h"
#include "kernels/cpu/matmul_blocked.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
class FewRowsProduct {
 public:
  using E = Compute<T>;

  // What is near panels read as quickly; and they keep sums in registers, which counts with more rows.
  static bool suits(Operand<T> b, int64_t m, int64_t n, int64_t k) {
    constexpr int64_t kFew = 4, kNear = 1 << 15;
    const int64_t bytes = n * k * static_cast<int64_t>(sizeof(T));
    return m <= kMostRows && b.column == 1 && n >= 4 * Tile<E>::kCols &&
           bytes > (m <= kFew ? kNear : cpu_cache_bytes() / 2);
  }

  FewRowsProduct(Operand<E> a, Operand<T> b, int64_t m, int64_t n, int64_t k)
      : a_(a), b_(b), m_(m), n_(n), k_(k), strip_(m <= kMostRows / 2 ? kStrip : kStrip / 2) {}

  void run(const Output<E>& first) const {
    constexpr int64_t kGrain = 1 << 15;
    parallel_for(0, (n_ + strip_ - 1) / strip_, kGrain / (k_ * strip_ + 1) + 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) one_strip(first, i * strip_);
                 });
  }

 private:
  using V = Vec<E>;
  static constexpr int W = kLanes<E>, kStrip = 512, kMostRows = 16, kRows = 4, kTerms = 4;
  static constexpr int64_t kDepth = Tile<E>::kDepth;

  void one_strip(const Output<E>& first, int64_t j) const {
    const int columns = static_cast<int>(std::min(n_ - j, strip_));
    alignas(64) E sums[kMostRows * kStrip];
    for (int64_t p = 0; p < k_; p += kDepth) {
      std::memset(sums, 0, sizeof(E) * static_cast<size_t>(m_ * kStrip));
      add_terms(sums, p, std::min(k_, p + kDepth), j, columns);
      finish<kStrip>(sums, p == 0 ? first : continued(first), 0, j, static_cast<int>(m_), columns);
    }
  }

  void add_terms(E* sums, int64_t p, int64_t end, int64_t j, int columns) const {
    for (; p + kTerms <= end; p += kTerms) all_rows<kTerms>(sums, p, j, columns);
    for (; p < end; ++p) all_rows<1>(sums, p, j, columns);
  }

  template <int terms>
  void all_rows(E* sums, int64_t p, int64_t j, int columns) const {
    for (int64_t i = 0; i < m_; i += kRows, sums += kRows * kStrip) {
      const auto rows = std::min<int64_t>(m_ - i, kRows);
      if (rows == 4)
        some_rows<4, terms>(sums, i, p, j, columns);
      else if (rows == 3)
        some_rows<3, terms>(sums, i, p, j, columns);
      else if (rows == 2)
        some_rows<2, terms>(sums, i, p, j, columns);
      else
        some_rows<1, terms>(sums, i, p, j, columns);
    }
  }

  template <int rows, int terms>
  void some_rows(E* sums, int64_t i, int64_t p, int64_t j, int columns) const {
    V factors[rows][terms];
    for (int r = 0; r < rows; ++r)
      for (int t = 0; t < terms; ++t) factors[r][t] = broadcast<V>(*a_.at(i + r, p + t));
    for (int c = 0; c < columns; c += W) {
      V from[terms];
      for (int t = 0; t < terms; ++t) from[t] = some_columns(b_.at(p + t, j + c), columns - c);
      for (int r = 0; r < rows; ++r) {
        char* at = reinterpret_cast<char*>(sums + r * kStrip + c);
        V sum = read<V>(at);
        for (int t = 0; t < terms; ++t) sum = fma(factors[r][t], from[t], sum);
        write(at, sum);
      }
    }
  }

  static TL_INLINE V some_columns(const T* b, int columns) {
    const auto* from = reinterpret_cast<const char*>(b);
    return columns < W ? load_partial<T>(from, columns) : load<T>(from);
  }

  Operand<E> a_;
  Operand<T> b_;
  int64_t m_, n_, k_, strip_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

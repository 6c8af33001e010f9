// Skinny GEMM: with a few rows it takes as long as reading the other matrix, which is read once.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/cpu_capability.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/blocked.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int64_t kSkinnyGrain = 1 << 15;  // multiplications that are worth a thread's while

// Times dense columns: they are turned around in registers, a vector of columns at a time, as more of them
// would be more streams than the processor fetches ahead.
template <class T>
struct SkinnyTransposedGemm {
  using E = OpMath<T>;

  Operand<E> a;
  Operand<T> b;
  int64_t m, n, k;

  static bool suits(Operand<T> b, int64_t m) { return m <= kMostRows && b.row == 1; }

  void run(const Epilogue<E>& first) const {
    const Sum kernel = needs_prefetch() ? sum_of<true>(m) : sum_of<false>(m);
    parallel_for(0, (n + W - 1) / W, kSkinnyGrain / (k * W + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin * W; j < n && j < end * W; j += W) {
        const int columns = static_cast<int>(std::min<int64_t>(n - j, W));
        for (int64_t p = 0; p == 0 || p < k; p += kDepth) {
          alignas(64) E sums[kMostRows * W];
          (this->*kernel)(sums, p, std::min(k, p + kDepth), j, columns);
          write_epilogue<W>(sums, p == 0 ? first : continued(first), 0, j, static_cast<int>(m), columns);
        }
      }
    });
  }

 private:
  using V = Vec<E>;
  using Sum = void (SkinnyTransposedGemm::*)(E* out, int64_t p, int64_t end, int64_t j, int columns) const;
  static constexpr int W = kLanes<E>, kMostRows = 4;
  static constexpr int64_t kDepth = Tile<E>::kDepth;

  // The processor fetches one stream in a page ahead, which is too little where several columns lie in one.
  bool needs_prefetch() const {
    constexpr int64_t kPage = 4096;
    return b.column * static_cast<int64_t>(sizeof(T)) < kPage;
  }

  template <bool ahead>
  static constexpr Sum sum_of(int64_t rows) {
    constexpr Sum kernels[] = {&SkinnyTransposedGemm::sum<1, ahead>, &SkinnyTransposedGemm::sum<2, ahead>,
                               &SkinnyTransposedGemm::sum<3, ahead>, &SkinnyTransposedGemm::sum<4, ahead>};
    return kernels[rows - 1];
  }

  template <int rows, bool ahead>
  void sum(E* out, int64_t p, int64_t end, int64_t j, int columns) const {
    V sums[rows] = {};
    const auto add = [&](int64_t term, V column) {
      for (int i = 0; i < rows; ++i) sums[i] = fma(broadcast<V>(*a.at(i, term)), column, sums[i]);
    };
    for (; p + W <= end; p += W) {
      V square[W];
      for (int c = 0; c < W; ++c) {
        square[c] = c < columns ? Plain<T>::along(b.at(p, j + c)) : V{};
        if constexpr (ahead) __builtin_prefetch(b.at(p, j + c + W));
      }
      RegisterTranspose<E>::transpose(square);
      for (int t = 0; t < W; ++t) add(p + t, square[t]);
    }
    for (; p < end; ++p)
      add(p, load_strided<T>(reinterpret_cast<const char*>(b.at(p, j)),
                             b.column * static_cast<int64_t>(sizeof(T)), columns));
    for (int i = 0; i < rows; ++i) write(reinterpret_cast<char*>(out + i * W), sums[i]);
  }
};

// Times dense rows: they are read in the order they lie in, while sums of a strip of columns stay in the
// first-level cache.
template <class T>
class SkinnyGemm {
 public:
  using E = OpMath<T>;

  // What is near panels read as quickly; and they keep sums in registers, which counts with more rows.
  static bool suits(Operand<T> b, int64_t m, int64_t n, int64_t k) {
    constexpr int64_t kFew = 4, kCachedBytes = 1 << 15;
    const int64_t bytes = n * k * static_cast<int64_t>(sizeof(T));
    return m <= kMostRows && b.column == 1 && n >= 4 * Tile<E>::kCols &&
           bytes > (m <= kFew ? kCachedBytes : cpu_cache_bytes() / 2);
  }

  SkinnyGemm(Operand<E> a, Operand<T> b, int64_t m, int64_t n, int64_t k)
      : a_(a), b_(b), m_(m), n_(n), k_(k), strip_(m <= kMostRows / 2 ? kStrip : kStrip / 2) {}

  void run(const Epilogue<E>& first) const {
    parallel_for(0, (n_ + strip_ - 1) / strip_, kSkinnyGrain / (k_ * strip_ + 1) + 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) one_strip(first, i * strip_);
                 });
  }

 private:
  using V = Vec<E>;
  static constexpr int W = kLanes<E>, kStrip = 512, kMostRows = 16, kRows = 4, kPack = 4;
  static constexpr int64_t kDepth = Tile<E>::kDepth;

  void one_strip(const Epilogue<E>& first, int64_t j) const {
    const int columns = static_cast<int>(std::min(n_ - j, strip_));
    alignas(64) E sums[kMostRows * kStrip];
    for (int64_t p = 0; p < k_; p += kDepth) {
      std::memset(sums, 0, sizeof(E) * static_cast<size_t>(m_ * kStrip));
      add_terms(sums, p, std::min(k_, p + kDepth), j, columns);
      write_epilogue<kStrip>(sums, p == 0 ? first : continued(first), 0, j, static_cast<int>(m_), columns);
    }
  }

  void add_terms(E* sums, int64_t p, int64_t end, int64_t j, int columns) const {
    for (; p + kPack <= end; p += kPack) all_rows<kPack>(sums, p, j, columns);
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
      for (int t = 0; t < terms; ++t) from[t] = column_block(b_.at(p + t, j + c), columns - c);
      for (int r = 0; r < rows; ++r) {
        char* at = reinterpret_cast<char*>(sums + r * kStrip + c);
        V sum = read<V>(at);
        for (int t = 0; t < terms; ++t) sum = fma(factors[r][t], from[t], sum);
        write(at, sum);
      }
    }
  }

  static TL_INLINE V column_block(const T* b, int columns) {
    const auto* from = reinterpret_cast<const char*>(b);
    return columns < W ? load_partial<T>(from, columns) : load<T>(from);
  }

  Operand<E> a_;
  Operand<T> b_;
  int64_t m_, n_, k_, strip_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

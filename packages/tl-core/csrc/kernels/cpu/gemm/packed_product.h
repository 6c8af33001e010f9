// Product with a right operand that is packed already, such as a weight: a few rows read it once.
#pragma once

#include "kernels/cpu/gemm/blocked.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// b of k x n lies panel by panel, each with all its terms. Sums are added in blocks of `depth` terms.
template <class T>
class PackedProduct {
 public:
  using S = Tile<T>;
  static constexpr int kCols = S::kCols;

  PackedProduct(Operand<T> a, const T* packed, int64_t m, int64_t n, int64_t k, int64_t depth = S::kDepth)
      : a_(a), packed_(packed), m_(m), n_(n), k_(k), depth_(depth), panels_(n) {}

  static int64_t size(int64_t k, int64_t n) { return Panels<T>(n).count() * kCols * k; }
  static void pack(Operand<T> b, int64_t k, int64_t n, T* packed) {
    const Panels<T> panels(n);
    parallel_for(0, panels.count(), (1 << 16) / (k * kCols + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pack_columns_as<Plain<T>>(packed + i * kCols * k, {b.at(0, panels.begin(i)), b.row, b.column},
                                  panels.columns(i), k);
    });
  }

  void run(const Epilogue<T>& first) const {
    parallel_for(0, panels_.count(), kGemmGrain / (m_ * k_ * kCols + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t p = 0; p == 0 || p < k_; p += depth_)
          block(p == 0 ? first : continued(first), i, p, std::min(depth_, k_ - p));
    });
  }

 private:
  // The terms from p on of a panel. While a tile of rows is multiplied, a share of what follows in memory
  // comes into the cache: otherwise the first tile of each block waits for memory, and the others leave it
  // idle.
  void block(const Epilogue<T>& o, int64_t panel, int64_t p, int64_t depth) const {
    constexpr int64_t kLine = 64, kPrefetch = 32;  // bytes; steps
    const int64_t j = panels_.begin(panel), tiles = (m_ + S::kRows - 1) / S::kRows,
                  lines = (kCols * static_cast<int64_t>(sizeof(T)) / kLine + tiles - 1) / tiles;
    const int columns = panels_.columns(panel);
    const T* b = packed_ + (panel * k_ + p) * kCols;
    const char* ahead =
        reinterpret_cast<const char*>(b + (tiles == 1 ? std::min(kPrefetch, depth) : depth) * kCols);
    const StreamedMicro<T>* kernels = streamed_micros(T{}, vectors_for<T>(columns));
    for (int64_t i = 0; i < m_; i += S::kRows, ahead += lines * depth * kLine) {
      const int r = static_cast<int>(std::min<int64_t>(m_ - i, S::kRows));
      run_epilogue<S::kRows, kCols>(o, i, j, r, columns, [&](const AccumulatorTarget<T>& to) {
        kernels[r - 1](to, a_.at(i, p), a_.row, a_.column, b, depth, {ahead, lines});
      });
    }
  }

  Operand<T> a_;
  const T* packed_;
  int64_t m_, n_, k_, depth_;
  Panels<T> panels_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

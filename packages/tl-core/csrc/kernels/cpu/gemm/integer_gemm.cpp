// isa: all
// GEMM of integers, which wrap around: a few rows times a few columns at a time.
#include "base/parallel.h"
#include "kernels/cpu/gemm/kernels.h"
#include "kernels/cpu/loops/arithmetic.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Computes in C, whose low bits are those of T.
template <class T, class C = T>
struct RowProduct {
  static constexpr int kRows = 4, kColumns = 4 * kVecBytes / static_cast<int>(sizeof(C));
  static constexpr int64_t kBlock = 64;  // rows that share the columns' copy
  const GemmArgs& p;
  C alpha, beta;

  explicit RowProduct(const GemmArgs& product)
      : p(product),
        alpha(product.alpha ? C(*static_cast<const T*>(product.alpha)) : one_like(C{})),
        beta(product.beta ? C(*static_cast<const T*>(product.beta)) : C{}) {}

  void run() const {
    const int64_t panels = (p.n + kColumns - 1) / kColumns, blocks = (p.m + kBlock - 1) / kBlock;
    const int64_t work = p.k * kColumns * (p.m < kBlock ? p.m : kBlock);
    parallel_for(0, panels * blocks, (1 << 18) / (work + 16) + 1, [&](int64_t begin, int64_t end) {
      Workspace<C> columns(p.k * kColumns);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t j = task / blocks * kColumns, i = task % blocks * kBlock;
        if (task == begin || i == 0) copy_columns(columns.data(), j);
        for (int64_t r = i; r < p.m && r < i + kBlock; r += kRows) some_rows(columns.data(), r, j);
      }
    });
  }

 private:
  T* at(const MatrixView& v, int64_t i, int64_t j) const {
    return reinterpret_cast<T*>(v.data) + i * v.row_stride + j * v.column_stride;
  }

  void copy_columns(C* to, int64_t first) const {
    const int64_t n = p.n - first < kColumns ? p.n - first : kColumns;
    for (int64_t q = 0; q < p.k; ++q, to += kColumns) {
      for (int64_t j = 0; j < n; ++j) to[j] = *at(p.b, q, first + j);
      for (int64_t j = n; j < kColumns; ++j) to[j] = C{};
    }
  }

  void some_rows(const C* columns, int64_t row, int64_t first) const {
    C sums[kRows][kColumns] = {};
    const int64_t rows = p.m - row < kRows ? p.m - row : kRows;
    rows == kRows ? add_products<kRows>(sums, columns, row) : add_single_rows(sums, columns, row, rows);
    const int64_t n = p.n - first < kColumns ? p.n - first : kColumns;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        C value = times(alpha, sums[i][j]);
        if (p.beta && beta != C{}) value = plus(times(beta, C(*at(p.added, row + i, first + j))), value);
        *at(p.c, row + i, first + j) = static_cast<T>(value);
      }
    }
  }

  void add_single_rows(C (*sums)[kColumns], const C* columns, int64_t row, int64_t rows) const {
    for (int64_t i = 0; i < rows; ++i) add_products<1>(sums + i, columns, row + i);
  }

  template <int R>
  void add_products(C (*out)[kColumns], const C* columns, int64_t row) const {
    C sums[R][kColumns] = {};
    for (int64_t q = 0; q < p.k; ++q, columns += kColumns) {
      for (int i = 0; i < R; ++i) {
        const C factor = *at(p.a, row + i, q);
        for (int j = 0; j < kColumns; ++j) sums[i][j] = plus(sums[i][j], times(factor, columns[j]));
      }
    }
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < kColumns; ++j) out[i][j] = sums[i][j];
  }
};

template <class T, class C = T>
void rows(const GemmArgs& p) {
  RowProduct<T, C>(p).run();
}

}  // namespace

extern const GemmKernel row_products[4] = {&rows<uint8_t, uint16_t>, &rows<uint16_t>, &rows<uint32_t>,
                                           &rows<uint64_t>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const GemmKernel row_products[4])

namespace tl::cpu {

GemmKernel integer_gemm(DType dtype) {
  const int64_t size = item_size(dtype);
  return TL_SELECT(row_products)[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
}

}  // namespace tl::cpu
#endif

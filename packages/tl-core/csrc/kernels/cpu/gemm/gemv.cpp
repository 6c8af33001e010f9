// isa: all
// GEMV: the matrix is read once, and the order of a row's sum does not depend on the other rows.
#include "base/parallel.h"
#include "kernels/cpu/gemm/kernels.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

template <class T>
class Gemv {
 public:
  using E = OpMath<T>;
  using V = Vec<E>;
  static constexpr int W = kLanes<E>;
  static constexpr int64_t kChunk = 1 << 14;  // K of a partial sum
  static constexpr int64_t kBlock = 512;      // K of a partial sum where a row is read element by element
  static constexpr int64_t kGrain = 1 << 16;

  explicit Gemv(const GemmArgs& p)
      : p_(p),
        chunks_((p.k + kChunk - 1) / kChunk),
        copy_(reads_in_place(p) ? 1 : p.k),
        sums_(p.m * chunks_ + 4 * W),
        x_(copy_.data()) {
    if constexpr (std::is_same_v<E, T>) {
      if (reads_in_place(p)) x_ = reinterpret_cast<const E*>(p.b.data);
    }
    for (int64_t i = 0; i < p.k && !reads_in_place(p); ++i)
      copy_.data()[i] = load_one<T>(at(p.b, i * p.b.row_stride));
  }

  void run() const {
    if (p_.a.column_stride != 1 && p_.a.row_stride == 1)
      by_columns();
    else
      by_rows();
    write_epilogue();
  }

 private:
  static bool reads_in_place(const GemmArgs& p) { return std::is_same_v<E, T> && p.b.row_stride == 1; }
  static char* at(const MatrixView& v, int64_t offset) {
    return v.data + offset * static_cast<int64_t>(sizeof(T));
  }
  int64_t terms(int64_t chunk) const {
    return p_.k - chunk * kChunk < kChunk ? p_.k - chunk * kChunk : kChunk;
  }

  // sums_[chunk * m + row]
  void by_rows() const {
    constexpr int64_t kRows = 4;
    const int64_t groups = (p_.m + kRows - 1) / kRows;
    parallel_for(0, groups * chunks_, kGrain / (kRows * terms(0) + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t chunk = i / groups, row = i % groups * kRows;
        E* sums = sums_.data() + chunk * p_.m + row;
        if (p_.a.column_stride == 1 && row + kRows <= p_.m)
          dense_rows<kRows>(sums, row, chunk);
        else
          for (int64_t r = row; r < p_.m && r < row + kRows; ++r) one_row(sums + r - row, r, chunk);
      }
    });
  }

  void one_row(E* sum, int64_t row, int64_t chunk) const {
    if (p_.a.column_stride == 1)
      dense_rows<1>(sum, row, chunk);
    else
      *sum = strided_row(row, chunk);
  }

  template <int R>
  void dense_rows(E* out, int64_t row, int64_t chunk) const {
    const int64_t n = terms(chunk);
    const E* x = x_ + chunk * kChunk;
    const char* a[R];
    for (int r = 0; r < R; ++r) a[r] = at(p_.a, (row + r) * p_.a.row_stride + chunk * kChunk);
    V sums[R][2] = {};
    int64_t p = 0;
    for (; p + 2 * W <= n; p += 2 * W) {
      for (int v = 0; v < 2; ++v) {
        const V factor = read<V>(reinterpret_cast<const char*>(x + p + v * W));
        for (int r = 0; r < R; ++r)
          sums[r][v] = fma(load<T>(a[r] + (p + v * W) * sizeof(T)), factor, sums[r][v]);
      }
    }
    for (; p < n; p += W) {
      const int left = static_cast<int>(n - p < W ? n - p : W);
      const V factor = load_partial<E>(reinterpret_cast<const char*>(x + p), left);
      for (int r = 0; r < R; ++r)
        sums[r][0] = fma(load_partial<T>(a[r] + p * sizeof(T), left), factor, sums[r][0]);
    }
    for (int r = 0; r < R; ++r) out[r] = horizontal_sum(sums[r][0] + sums[r][1]);
  }

  E strided_row(int64_t row, int64_t chunk) const {
    const int64_t n = terms(chunk), size = sizeof(T);
    const E* x = x_ + chunk * kChunk;
    V sum = {};
    for (int64_t p = 0; p < n; p += W) {
      const int left = static_cast<int>(n - p < W ? n - p : W);
      const char* from = at(p_.a, row * p_.a.row_stride + (chunk * kChunk + p) * p_.a.column_stride);
      sum = fma(load_strided<T>(from, p_.a.column_stride * size, left),
                load_partial<E>(reinterpret_cast<const char*>(x + p), left), sum);
    }
    return horizontal_sum(sum);
  }

  // Some vectors of rows at a time.
  void by_columns() const {
    constexpr int64_t kRows = 4 * W;
    const int64_t groups = (p_.m + kRows - 1) / kRows;
    parallel_for(0, groups * chunks_, kGrain / (kRows * terms(0) + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t chunk = i / groups, row = i % groups * kRows;
        E* sums = sums_.data() + chunk * p_.m + row;
        if (row + kRows <= p_.m)
          column_block<true>(sums, row, chunk, W);
        else
          for (int64_t r = row; r < p_.m; r += W)
            column_block<false>(sums + r - row, r, chunk, static_cast<int>(p_.m - r < W ? p_.m - r : W));
      }
    });
  }

  template <bool whole>
  void column_block(E* out, int64_t row, int64_t chunk, int lanes) const {
    constexpr int N = whole ? 4 : 1;
    V sums[N] = {};
    const int64_t first = chunk * kChunk, last = first + terms(chunk);
    for (int64_t block = first; block < last; block += kBlock) {
      V part[N] = {};
      for (int64_t p = block; p < last && p < block + kBlock; ++p) {
        const V factor = broadcast<V>(x_[p]);
        const char* a = at(p_.a, row + p * p_.a.column_stride);
        for (int v = 0; v < N; ++v)
          part[v] = fma(whole ? load<T>(a + v * W * sizeof(T)) : load_partial<T>(a, lanes), factor, part[v]);
      }
      for (int v = 0; v < N; ++v) sums[v] += part[v];
    }
    for (int v = 0; v < N; ++v)
      store_partial<E>(reinterpret_cast<char*>(out + v * W), whole ? W : lanes, sums[v]);
  }

  void write_epilogue() const {
    const E alpha = p_.alpha ? *static_cast<const E*>(p_.alpha) : E(1);
    const E beta = p_.beta ? *static_cast<const E*>(p_.beta) : E(0);
    for (int64_t i = 0; i < p_.m; ++i) {
      E sum = 0;
      for (int64_t chunk = 0; chunk < chunks_; ++chunk) sum += sums_.data()[chunk * p_.m + i];
      E value = alpha * sum;
      if (beta != 0) value = beta * load_one<T>(at(p_.added, i * p_.added.row_stride)) + value;
      store_one<T>(at(p_.c, i * p_.c.row_stride), value);
    }
  }

  const GemmArgs& p_;
  int64_t chunks_;
  Workspace<E> copy_, sums_;
  const E* x_;  // the vector
};

template <class T>
void gemv(const GemmArgs& p) {
  Gemv<T>(p).run();
}

}  // namespace

extern const GemmKernel column_products[4] = {&gemv<float>, &gemv<double>, &gemv<Half>, &gemv<BFloat16>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const GemmKernel column_products[4])

namespace tl::cpu {

GemmKernel gemv(DType dtype) {
  const GemmKernel* kernels = TL_SELECT(column_products);
  switch (dtype) {
    case DType::Float32:
      return kernels[0];
    case DType::Float64:
      return kernels[1];
    case DType::Float16:
      return kernels[2];
    case DType::BFloat16:
      return kernels[3];
    default:
      return nullptr;
  }
}

}  // namespace tl::cpu
#endif

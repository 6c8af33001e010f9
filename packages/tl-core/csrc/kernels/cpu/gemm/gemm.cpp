// GEMM entry points: chooses a kernel by dtype and shape; complex types by real GEMM.
#include "kernels/cpu/gemm/gemm.h"

#include <algorithm>
#include <cstring>

#include "base/matmul_precision.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/gemm/int8.h"
#include "kernels/cpu/gemm/kernels.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu {

namespace {

using namespace base;

// ---- complex numbers: as twice as many real rows and columns ----------------------------------------------

// Rows of a are real rows as they lie; a number of b becomes the matrix that multiplies pairs by it.
template <class R>
class ComplexGemm {
 public:
  explicit ComplexGemm(const GemmArgs& p) : p_(p), alpha_{1, 0}, beta_{0, 0} {
    if (p.alpha) std::memcpy(alpha_, p.alpha, sizeof alpha_);
    if (p.beta) std::memcpy(beta_, p.beta, sizeof beta_);
  }

  void run() const {
    const bool moves_a = p_.a.column_stride != 1;
    Workspace<R> rows(moves_a ? 2 * p_.m * p_.k : 0);
    if (moves_a) copy_rows(rows.data());
    const MatrixView a =
        moves_a ? MatrixView{reinterpret_cast<char*>(rows.data()), 2 * p_.k, 1} : real(p_.a, 0, 0);
    for (int64_t j = 0; j < p_.n; j += kColumns) column_block(a, j, std::min(kColumns, p_.n - j));
  }

 private:
  static constexpr int64_t kColumns = 1024;
  static constexpr DType kReal = sizeof(R) == 4 ? DType::Float32 : DType::Float64;

  static const R* at(const MatrixView& v, int64_t i, int64_t j) {
    return reinterpret_cast<const R*>(v.data) + 2 * (i * v.row_stride + j * v.column_stride);
  }
  static MatrixView real(const MatrixView& v, int64_t i, int64_t j) {
    return {reinterpret_cast<char*>(const_cast<R*>(at(v, i, j))), 2 * v.row_stride, 1};
  }

  void copy_rows(R* to) const {
    for (int64_t i = 0; i < p_.m; ++i)
      for (int64_t q = 0; q < p_.k; ++q, to += 2) std::memcpy(to, at(p_.a, i, q), 2 * sizeof(R));
  }

  // Multiplies by a block of columns of b, as real matrices of twice the width.
  void column_block(const MatrixView& a, int64_t first, int64_t columns) const {
    const int64_t width = 2 * columns;
    Workspace<R> b(2 * p_.k * width);
    parallel_for(0, p_.k, (1 << 14) / width + 1, [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) {
        R *upper = b.data() + 2 * q * width, *lower = upper + width;
        for (int64_t j = 0; j < columns; ++j) {
          const R* number = at(p_.b, q, first + j);
          upper[2 * j] = lower[2 * j + 1] = number[0];
          upper[2 * j + 1] = number[1];
          lower[2 * j] = -number[1];
        }
      }
    });
    const MatrixView factor{reinterpret_cast<char*>(b.data()), width, 1};
    const bool adds = p_.beta && (beta_[0] != 0 || beta_[1] != 0);
    const bool overwrites_added =
        p_.c.column_stride == 1 && alpha_[1] == 0 && beta_[1] == 0 && (!adds || p_.added.column_stride == 1);
    if (overwrites_added)
      return gemm(kReal,
                  {p_.m, width, 2 * p_.k, a, factor, real(p_.c, 0, first),
                   adds ? real(p_.added, 0, first) : MatrixView{}, &alpha_[0], adds ? &beta_[0] : nullptr});
    Workspace<R> sums(p_.m * width);
    gemm(kReal, {p_.m, width, 2 * p_.k, a, factor, {reinterpret_cast<char*>(sums.data()), width, 1}, {}});
    for (int64_t i = 0; i < p_.m; ++i)
      for (int64_t j = 0; j < columns; ++j)
        write_epilogue(sums.data() + i * width + 2 * j, i, first + j, adds);
  }

  void write_epilogue(const R* sum, int64_t i, int64_t j, bool adds) const {
    R re = alpha_[0] * sum[0] - alpha_[1] * sum[1], im = alpha_[0] * sum[1] + alpha_[1] * sum[0];
    if (adds) {
      const R* more = at(p_.added, i, j);
      re += beta_[0] * more[0] - beta_[1] * more[1];
      im += beta_[0] * more[1] + beta_[1] * more[0];
    }
    R* to = const_cast<R*>(at(p_.c, i, j));
    to[0] = re;
    to[1] = im;
  }

  const GemmArgs& p_;
  R alpha_[2], beta_[2];
};

// ---- complex halves: through complex64 --------------------------------------------------------------------

void widen_matrix(DType to, DType from, char* out, const MatrixView& in, int64_t rows, int64_t columns) {
  const int64_t wide = item_size(to), narrow = item_size(from);
  char* const data[] = {out, in.data};
  const int64_t strides[] = {wide, in.column_stride * narrow, columns * wide, in.row_stride * narrow};
  if (rows > 0 && columns > 0) cast_loop(to, from)(data, strides, columns, rows, nullptr);
}

void narrow_matrix(DType to, DType from, const MatrixView& out, char* in, int64_t rows, int64_t columns) {
  const int64_t narrow = item_size(to), wide = item_size(from);
  char* const data[] = {out.data, in};
  const int64_t strides[] = {out.column_stride * narrow, wide, out.row_stride * narrow, columns * wide};
  cast_loop(to, from)(data, strides, columns, rows, nullptr);
}

// Rows go in blocks, so that the widened copies stay small; b is widened once.
void widened_gemm(DType dtype, DType wide, const GemmArgs& p) {
  constexpr int64_t kRows = 512;
  const int64_t size = item_size(wide), item = item_size(dtype);
  Workspace<char> b(p.k * p.n * size);
  widen_matrix(wide, dtype, b.data(), p.b, p.k, p.n);
  const int64_t block = p.m < kRows ? p.m : kRows;
  Workspace<char> a(block * p.k * size), c(block * p.n * size);
  for (int64_t i = 0; i < p.m; i += kRows) {
    const int64_t rows = p.m - i < kRows ? p.m - i : kRows;
    const auto from = [&](const MatrixView& v) {
      return MatrixView{v.data + i * v.row_stride * item, v.row_stride, v.column_stride};
    };
    widen_matrix(wide, dtype, a.data(), from(p.a), rows, p.k);
    if (p.beta) widen_matrix(wide, dtype, c.data(), from(p.added), rows, p.n);
    const MatrixView sums{c.data(), p.n, 1};
    gemm(wide, {rows, p.n, p.k, {a.data(), p.k, 1}, {b.data(), p.n, 1}, sums, sums, p.alpha, p.beta});
    narrow_matrix(dtype, wide, from(p.c), c.data(), rows, p.n);
  }
}

// By pairs where the processor can; packing a few rows' operands would cost more than it saves.
void by_pairs_or(GemmKernel pairs, GemmKernel otherwise, const GemmArgs& p) {
  (pairs && p.m >= 8 ? pairs : otherwise)(p);
}

// In parts where fewer bits are allowed and packing is worth it.
GemmKernel float_kernel(const GemmArgs& p) {
  constexpr int64_t kRows = 16, kMinExtent = 32, kElements = 1 << 14;
  const MatmulPrecision precision = matmul_precision.load(std::memory_order_relaxed);
  if (precision == MatmulPrecision::Highest || needs_all_bits || p.m < kRows ||
      std::min(p.n, p.k) < kMinExtent || p.n * p.k < kElements)
    return float_gemm();
  const GemmKernel parts = split_bf16_kernel(precision == MatmulPrecision::High ? 2 : 1);
  return parts ? parts : float_gemm();
}

}  // namespace

void gemm(DType dtype, const GemmArgs& p) {
  if (p.m == 0 || p.n == 0) return;
  if (const GemmKernel column = p.n == 1 && p.k > 0 ? gemv(dtype) : nullptr) return column(p);
  switch (dtype) {
    case DType::Float32:
      return float_kernel(p)(p);
    case DType::Float64:
      return double_gemm()(p);
    case DType::Float16:
      return half_gemm()(p);
    case DType::BFloat16:
      return by_pairs_or(bfloat16_vnni_gemm(), bfloat16_gemm(), p);
    case DType::Complex32:
      return widened_gemm(dtype, DType::Complex64, p);
    case DType::Complex64:
      return ComplexGemm<float>(p).run();
    case DType::Complex128:
      return ComplexGemm<double>(p).run();
    default:
      return integer_gemm(dtype)(p);
  }
}

namespace {

// The first operand as unsigned bytes, which are 128 more; the second one packed. c's rows are dense.
void int8_by_bytes(const GemmArgs& p) {
  const int64_t columns = int8_panels(p.n) * kPanelColumns, row = int8_row_bytes(p.k);
  Workspace<uint8_t> bytes(int8_readable_rows(p.m) * row);
  Workspace<int8_t> packed(packed_int8_bytes(p.k, p.n));
  Workspace<int32_t> sums(columns);
  copy_byte_rows({reinterpret_cast<const uint8_t*>(p.a.data), p.m, p.k, p.a.row_stride, p.a.column_stride,
                  128, bytes.data(), row});
  pack_int8({reinterpret_cast<const int8_t*>(p.b.data), p.b.row_stride, p.b.column_stride}, p.k, p.n,
            packed.data(), sums.data());
  const auto step = static_cast<int64_t>(sizeof(int32_t));
  gemm_packed_int8({p.m, p.n, p.k, bytes.data(), row, 128, packed.data(), sums.data(), nullptr, false,
                    int8_readable_rows(p.m)},
                   {Int8Output::Int32, p.c.data, p.c.row_stride * step});
}

}  // namespace

void gemm_int8(const GemmArgs& p) {
  if (p.m == 0 || p.n == 0) return;
  if (const GemmKernel tiles = int8_gemm()) return tiles(p);
  int8_by_bytes(p);
}

void gemm_bf16_f32(const GemmArgs& p) {
  if (p.m > 0 && p.n > 0) by_pairs_or(bfloat16_vnni_gemm_to_float(), bfloat16_gemm_to_float(), p);
}

int64_t packed_size(DType dtype, int64_t k, int64_t n) { return packed_gemm(dtype).size(k, n); }
void pack(DType dtype, const MatrixView& b, int64_t k, int64_t n, char* packed) {
  packed_gemm(dtype).pack(b, k, n, packed);
}
void gemm_packed(DType dtype, const GemmArgs& p) {
  if (p.m > 0 && p.n > 0) packed_gemm(dtype).run(p);
}

void gemm_batched(DType dtype, const GemmArgs& first, int64_t count, int64_t a_step, int64_t b_step,
                  int64_t c_step, int64_t added_step) {
  const int64_t item = item_size(dtype);
  const auto one = [&, all = needs_all_bits](int64_t i) {
    const AllBits all_bits(all);  // in other threads, too
    GemmArgs p = first;
    p.a.data += i * a_step * item;
    p.b.data += i * b_step * item;
    p.c.data += i * c_step * item;
    if (p.added.data) p.added.data += i * added_step * item;
    gemm(dtype, p);
  };
  const int64_t work = first.m * first.n * first.k;
  if (work > (1 << 22)) {  // each is divided among the threads
    for (int64_t i = 0; i < count; ++i) one(i);
    return;
  }
  parallel_for(0, count, (1 << 19) / (work + 256) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) one(i);
  });
}

}  // namespace tl::cpu

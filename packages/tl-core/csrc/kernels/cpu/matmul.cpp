#include "kernels/cpu/matmul.h"

#include "base/parallel.h"
#include "kernels/cpu/cast.h"
#include "kernels/cpu/functions/arithmetic.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/workspace.h"

namespace tl::cpu {

namespace {

using namespace base;

template <class T>
T number_or_one(const void* p) {
  return p ? *static_cast<const T*>(p) : one_like(T{});
}
template <class T>
T number_or_zero(const void* p) {
  return p ? *static_cast<const T*>(p) : T{};
}

// ---- integers and complex numbers: a row of c at a time
// -----------------------------------------------------------------

template <class T>
struct RowProduct {
  static constexpr int64_t kWidth = 256;
  const Product& p;
  T alpha, beta;

  T* at(const MatrixView& v, int64_t i, int64_t j) const {
    return reinterpret_cast<T*>(v.data) + i * v.row_stride + j * v.column_stride;
  }

  void run(int64_t i, int64_t j0, int64_t columns) const {
    T sums[kWidth] = {};
    for (int64_t q = 0; q < p.k; ++q) {
      const T factor = *at(p.a, i, q);
      const T* b = at(p.b, q, j0);
      if (p.b.column_stride == 1) {
        for (int64_t j = 0; j < columns; ++j) sums[j] = plus(sums[j], times(factor, b[j]));
      } else {
        for (int64_t j = 0; j < columns; ++j)
          sums[j] = plus(sums[j], times(factor, b[j * p.b.column_stride]));
      }
    }
    for (int64_t j = 0; j < columns; ++j) {
      T value = times(alpha, sums[j]);
      if (p.beta && beta != T{}) value = plus(times(beta, *at(p.added, i, j0 + j)), value);
      *at(p.c, i, j0 + j) = value;
    }
  }
};

template <class T>
void row_product(const Product& p) {
  const RowProduct<T> rows{p, number_or_one<T>(p.alpha), number_or_zero<T>(p.beta)};
  constexpr int64_t kWidth = RowProduct<T>::kWidth;
  const int64_t parts = (p.n + kWidth - 1) / kWidth;
  parallel_for(0, p.m * parts, (1 << 18) / (p.k * (p.n < kWidth ? p.n : kWidth) + 16) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t j = task % parts * kWidth;
                   rows.run(task / parts, j, p.n - j < kWidth ? p.n - j : kWidth);
                 }
               });
}

// ---- complex halves: through complex64
// ----------------------------------------------------------------------------------

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
void widened_product(DType dtype, DType wide, const Product& p) {
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
    matmul(wide, {rows, p.n, p.k, {a.data(), p.k, 1}, {b.data(), p.n, 1}, sums, sums, p.alpha, p.beta});
    narrow_matrix(dtype, wide, from(p.c), c.data(), rows, p.n);
  }
}

void bfloat16(const Product& p) {
  const MatmulKernel pairs = bfloat16_pair_product();
  const bool few_rows = p.m < 8;  // packing would cost more than it saves
  (pairs && !few_rows ? pairs : bfloat16_product())(p);
}

}  // namespace

void matmul(DType dtype, const Product& p) {
  if (p.m == 0 || p.n == 0) return;
  if (const MatmulKernel column = p.n == 1 && p.k > 0 ? column_product(dtype) : nullptr) return column(p);
  switch (dtype) {
    case DType::Float32:
      return float_product()(p);
    case DType::Float64:
      return double_product()(p);
    case DType::Float16:
      return half_product()(p);
    case DType::BFloat16:
      return bfloat16(p);
    case DType::Complex32:
      return widened_product(dtype, DType::Complex64, p);
    case DType::Complex64:
      return row_product<Complex64>(p);
    case DType::Complex128:
      return row_product<Complex128>(p);
    case DType::UInt8:
    case DType::Int8:
      return row_product<uint8_t>(p);
    case DType::UInt16:
    case DType::Int16:
      return row_product<uint16_t>(p);
    case DType::UInt32:
    case DType::Int32:
      return row_product<uint32_t>(p);
    case DType::UInt64:
    case DType::Int64:
      return row_product<uint64_t>(p);
    case DType::Bool:
      break;
  }
}

int64_t packed_size(DType dtype, int64_t k, int64_t n) { return packed_product(dtype).size(k, n); }
void pack(DType dtype, const MatrixView& b, int64_t k, int64_t n, char* packed) {
  packed_product(dtype).pack(b, k, n, packed);
}
void matmul_packed(DType dtype, const Product& p) {
  if (p.m > 0 && p.n > 0) packed_product(dtype).run(p);
}

void matmul_batched(DType dtype, const Product& first, int64_t count, int64_t a_step, int64_t b_step,
                    int64_t c_step, int64_t added_step) {
  const int64_t item = item_size(dtype);
  const auto one = [&](int64_t i) {
    Product p = first;
    p.a.data += i * a_step * item;
    p.b.data += i * b_step * item;
    p.c.data += i * c_step * item;
    if (p.added.data) p.added.data += i * added_step * item;
    matmul(dtype, p);
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

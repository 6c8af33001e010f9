// GEMM epilogue: c = beta * added + alpha * accumulators, with bias, scaling and narrowing write-out.
#pragma once

#include "base/parallel.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/micro_kernel.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// c = beta * added + alpha * sums; a bias has a row stride of 0.
template <class T>
struct Epilogue {
  T* c;
  int64_t row, column;
  const T* added;
  int64_t added_row, added_column;
  T alpha, beta;
};

// Writes full vectors of columns that are contiguous in c.
template <bool adds, int kCols, class T>
void write_epilogue_vectors(const T* sums, const Epilogue<T>& o, int64_t i0, int64_t j0, int rows,
                            int columns) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  for (int64_t i = i0; i < i0 + rows; ++i, sums += kCols) {
    for (int j = 0; j < columns; j += W) {
      V value = read<V>(reinterpret_cast<const char*>(sums + j)) * o.alpha;
      if (adds)
        value = read<V>(reinterpret_cast<const char*>(o.added + i * o.added_row + j0 + j)) * o.beta + value;
      write(reinterpret_cast<char*>(o.c + i * o.row + j0 + j), value);
    }
  }
}

// Writes a tile of accumulators, with rows kCols apart, to c at (i0, j0).
template <int kCols, class T>
void write_epilogue(const T* sums, const Epilogue<T>& o, int64_t i0, int64_t j0, int rows, int columns) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  if (columns % W == 0 && o.column == 1) {
    if (o.beta == 0) return write_epilogue_vectors<false, kCols>(sums, o, i0, j0, rows, columns);
    if (o.added_column == 1) return write_epilogue_vectors<true, kCols>(sums, o, i0, j0, rows, columns);
  }
  const bool dense = o.column == 1 && (o.beta == 0 || o.added_column == 1 || o.added_column == 0);
  for (int i = 0; i < rows; ++i) {
    char* c = reinterpret_cast<char*>(o.c + (i0 + i) * o.row + j0 * o.column);
    const T* add = o.added + (i0 + i) * o.added_row + j0 * o.added_column;
    const T* sum = sums + i * kCols;
    for (int j = 0; dense && j < columns; j += W) {
      const int left = columns - j < W ? columns - j : W;
      V value = read<V>(reinterpret_cast<const char*>(sum + j)) * o.alpha;
      if (o.beta != 0) {
        const char* from = reinterpret_cast<const char*>(add + j * o.added_column);
        const V more = o.added_column == 0 ? broadcast<V>(*add)
                       : left == W         ? read<V>(from)
                                           : load_partial<T>(from, left);
        value = more * o.beta + value;
      }
      if (left == W)
        write(c + j * sizeof(T), value);
      else
        store_partial<T>(c + j * sizeof(T), left, value);
    }
    for (int j = 0; !dense && j < columns; ++j) {
      T value = sum[j] * o.alpha;
      if (o.beta != 0) value = add[j * o.added_column] * o.beta + value;
      reinterpret_cast<T*>(c)[j * o.column] = value;
    }
  }
}

// Calls run(target), which stores accumulators of full vectors: straight to c where alpha is 1 and beta 0 or
// 1, otherwise to a buffer that write_epilogue scales.
template <int kRows, int kCols, class T, class Run>
TL_INLINE void run_epilogue(const Epilogue<T>& o, int64_t i, int64_t j, int rows, int columns, Run run) {
  const bool plain = columns % kLanes<T> == 0 && o.column == 1 && o.alpha == 1;
  if (plain && o.beta == 0) return run(AccumulatorTarget<T>{o.c + i * o.row + j, o.row});
  if (plain && o.beta == 1 && o.added_column == 1)
    return run(AccumulatorTarget<T>{o.c + i * o.row + j, o.row, o.added + i * o.added_row + j, o.added_row});
  alignas(64) T sums[kRows * kCols];
  run(AccumulatorTarget<T>{sums, kCols});
  write_epilogue<kCols>(sums, o, i, j, rows, columns);
}

// Prefetches a tile of c before it is written: rows far apart are streams that the hardware does not follow.
template <class T>
TL_INLINE void prefetch(const Epilogue<T>& o, int64_t i0, int64_t j0, int rows, int columns) {
  if (o.column != 1) return;
  for (int i = 0; i < rows; ++i) prefetch<true>(o.c + (i0 + i) * o.row + j0, columns * sizeof(T));
}

// The epilogue of the blocks of K after the first: they accumulate into c.
template <class T>
Epilogue<T> continued(const Epilogue<T>& o) {
  return {o.c, o.row, o.column, o.c, o.row, o.column, o.alpha, T(1)};
}

// alpha or beta, or its default where null.
template <class T>
T scalar_or(const void* p, T otherwise) {
  return p ? *static_cast<const T*>(p) : otherwise;
}

// The epilogue of a GEMM whose c has the type that it is computed in.
template <class T>
Epilogue<T> epilogue_of(const GemmArgs& p) {
  return {reinterpret_cast<T*>(p.c.data),
          p.c.row_stride,
          p.c.column_stride,
          reinterpret_cast<const T*>(p.added.data),
          p.added.row_stride,
          p.added.column_stride,
          scalar_or<T>(p.alpha, 1),
          scalar_or<T>(p.beta, 0)};
}

// Scales a row of float accumulators, adds beta * added and rounds to a 16-bit type.
template <class T>
void narrow_row(const float* sums, int64_t columns, char* c, int64_t step, const char* added,
                int64_t added_step, float alpha, float beta) {
  constexpr int W = kLanes<float>;
  for (int64_t j = 0; j < columns; j += W) {
    const int left = static_cast<int>(columns - j < W ? columns - j : W);
    VecF value = load_partial<float>(reinterpret_cast<const char*>(sums + j), left) * alpha;
    if (beta != 0) value = load_strided<T>(added + j * added_step, added_step, left) * beta + value;
    if (step == sizeof(T) && left == W)
      store<T>(c + j * step, value);
    else
      store_strided<T>(c + j * step, step, left, value);
  }
}

// Likewise for a block of rows, in parallel.
template <class T>
void narrow_block(const float* sums, int64_t rows, int64_t columns, const MatrixView& c,
                  const MatrixView& added, float alpha, float beta) {
  constexpr int64_t size = sizeof(T);
  parallel_for(0, rows, (1 << 15) / columns + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      narrow_row<T>(sums + i * columns, columns, c.data + i * c.row_stride * size, c.column_stride * size,
                    added.data + i * added.row_stride * size, added.column_stride * size, alpha, beta);
  });
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

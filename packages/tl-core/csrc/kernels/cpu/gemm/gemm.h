// GEMM on any strides, batched and packed. Within a kernel the order of summation over K is fixed: it depends
// neither on the number of rows nor on the number of threads.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

// A matrix in memory; strides count elements.
struct MatrixView {
  char* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
};

// c = beta * added + alpha * a b, for a: m x k, b: k x n. `added` is not read when beta is 0; a bias has a
// row stride of 0; it may be c itself, with c's strides. alpha and beta are numbers of the dtype (of its
// opmath type for halves), null meaning 1 and 0.
struct GemmArgs {
  int64_t m, n, k;
  MatrixView a, b, c, added;
  const void* alpha = nullptr;
  const void* beta = nullptr;
};

// All dtypes but bool. Half types accumulate in float, integers wrap around.
void gemm(DType dtype, const GemmArgs& product);

// GEMM of int8 accumulated in int32, which takes no alpha and beta.
void gemm_int8(const GemmArgs& product);

// GEMM of bfloat16 with c, alpha, beta and `added` in float32.
void gemm_bf16_f32(const GemmArgs& product);

// c = a b or c += a b in float32: both operands packed, c's rows `stride` apart and with room for
// whole multiples of TileGemm::kTileRows rows and columns. What a float32 has no exact parts for comes out as
// NaN, sums below 2^-80 not exact.
struct TileGemmArgs {
  int64_t m, n, terms;
  const char *left, *right;
  int64_t right_terms;  // that it was packed with
  float* c;
  int64_t stride;
  bool adds;
};

// GEMM of packed operands on AMX tiles, of bfloat16 or of float32 by split bfloat16: functions that pack an
// operand and multiply packed operands of K up to kMaxK.
struct TileGemm {
  static constexpr int64_t kTileRows = 32, kMaxK = 512;
  int64_t (*bytes)(int64_t lines, int64_t terms);  // of a's rows or b's columns
  void (*pack_left)(const GemmArgs& of, char* packed);
  void (*pack_right)(const GemmArgs& of, char* packed);
  void (*begin)();  // configures the thread's tiles
  void (*multiply)(const TileGemmArgs& product);
  void (*end)();
};
const TileGemm* tile_gemm(DType dtype);  // null where the processor has no tiles

// `count` products, whose matrices lie these numbers of elements apart.
void gemm_batched(DType dtype, const GemmArgs& first, int64_t count, int64_t a_step, int64_t b_step,
                  int64_t c_step, int64_t added_step);

// The right operand of several GEMMs (float32, float64), packed once:
// `packed` takes packed_size(dtype, k, n) elements.
int64_t packed_size(DType dtype, int64_t k, int64_t n);
void pack(DType dtype, const MatrixView& b, int64_t k, int64_t n, char* packed);
void gemm_packed(DType dtype, const GemmArgs& product);  // b's data is packed

}  // namespace tl::cpu

// Matrix products on any strides. The terms of a sum over k are added in one fixed order, so that a row of
// the product does not depend on how many rows there are, nor on the number of threads.
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
// compute type for halves), null meaning 1 and 0.
struct GemmArgs {
  int64_t m, n, k;
  MatrixView a, b, c, added;
  const void* alpha = nullptr;
  const void* beta = nullptr;
};

// All dtypes but bool. Half types accumulate in float, integers wrap around.
void gemm(DType dtype, const GemmArgs& product);

// Of int8 in int32, which takes no alpha and beta.
void gemm_int8(const GemmArgs& product);

// Of bfloat16 in float32, which alpha, beta and what is added are of as well.
void gemm_bf16_f32(const GemmArgs& product);

// c = a b, or what is added to c, of floats: both sides packed, c's rows `stride` apart and with room for
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

// Products by tiles, of BFloat16 or, in parts, of Float32: what copies a side into the order in which they
// read it, and multiplies sides of up to kMaxK terms.
struct TileGemm {
  static constexpr int64_t kTileRows = 32, kMaxK = 512;
  int64_t (*bytes)(int64_t lines, int64_t terms);  // of a's rows or b's columns
  void (*pack_left)(const GemmArgs& of, char* packed);
  void (*pack_right)(const GemmArgs& of, char* packed);
  void (*begin)();  // a thread's products
  void (*multiply)(const TileGemmArgs& product);
  void (*end)();
};
const TileGemm* tile_gemm(DType dtype);  // null where the processor has no tiles

// `count` products, whose matrices lie these numbers of elements apart.
void gemm_batched(DType dtype, const GemmArgs& first, int64_t count, int64_t a_step, int64_t b_step,
                  int64_t c_step, int64_t added_step);

// The right side of several products (float32, float64), copied once into the order in which they read it:
// `packed` takes packed_size(dtype, k, n) elements.
int64_t packed_size(DType dtype, int64_t k, int64_t n);
void pack(DType dtype, const MatrixView& b, int64_t k, int64_t n, char* packed);
void gemm_packed(DType dtype, const GemmArgs& product);  // b's data is packed

}  // namespace tl::cpu

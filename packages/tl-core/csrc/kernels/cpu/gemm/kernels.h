// GEMM kernels that gemm.cpp chooses among.
#pragma once

#include "kernels/cpu/gemm/gemm.h"

namespace tl::cpu {

using GemmKernel = void (*)(const GemmArgs& product);

GemmKernel float_gemm();
GemmKernel double_gemm();
GemmKernel half_gemm();
GemmKernel bfloat16_gemm();
GemmKernel bfloat16_gemm_to_float();  // the result, and what is added to it, of float
GemmKernel bfloat16_vnni_gemm();      // by the processor's instructions; null where it has none
GemmKernel bfloat16_vnni_gemm_to_float();
GemmKernel split_bf16_kernel(int parts);  // of float32 as the sum of one or two bfloat16; null likewise
GemmKernel int8_gemm();                   // of int8, in int32; null likewise
GemmKernel integer_gemm(DType dtype);

struct PackedGemm {
  int64_t (*size)(int64_t k, int64_t n);
  void (*pack)(const MatrixView& b, int64_t k, int64_t n, char* packed);
  GemmKernel run;
};
const PackedGemm& packed_gemm(DType dtype);  // float32, float64

// For products whose b is one column; null for dtypes that have none.
GemmKernel gemv(DType dtype);

}  // namespace tl::cpu

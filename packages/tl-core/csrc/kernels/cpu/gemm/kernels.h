// The products matmul.cpp chooses among.
#pragma once

#include "kernels/cpu/gemm/gemm.h"

namespace tl::cpu {

using MatmulKernel = void (*)(const Product& product);

MatmulKernel float_product();
MatmulKernel double_product();
MatmulKernel half_product();
MatmulKernel bfloat16_product();
MatmulKernel bfloat16_product_in_float();  // the result, and what is added to it, of float
MatmulKernel bfloat16_pair_product();      // by the processor's instructions; null where it has none
MatmulKernel bfloat16_pair_product_in_float();
MatmulKernel float_parts_product(int parts);  // of float32 as the sum of one or two bfloat16; null likewise
MatmulKernel int8_product();                  // of int8, in int32; null likewise
MatmulKernel integer_product(DType dtype);

struct PackedProduct {
  int64_t (*size)(int64_t k, int64_t n);
  void (*pack)(const MatrixView& b, int64_t k, int64_t n, char* packed);
  MatmulKernel run;
};
const PackedProduct& packed_product(DType dtype);  // float32, float64

// For products whose b is one column; null for dtypes that have none.
MatmulKernel column_product(DType dtype);

}  // namespace tl::cpu

// Arrays made from a formula. Strides are in bytes; numbers come as double and int64, both holding the value:
// integer dtypes use the int64 (their results are exact), the others the double. Complex results have no
// imaginary part.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

struct Number {
  double real;
  int64_t whole;
};

// out[i] = start + i * step
void arange(DType dtype, char* out, int64_t stride, int64_t n, Number start, Number step);
// n numbers from start to end, both exact, counted from the nearer end.
void linspace(DType dtype, char* out, int64_t stride, int64_t n, Number start, Number end);

}  // namespace tl::cpu

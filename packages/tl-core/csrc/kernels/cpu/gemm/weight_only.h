// Products of floats with weights of 8 and 4 bits, which become floats on the way.
#pragma once

#include <cstdint>

namespace tl::cpu {

// c = (a w^T) * scales: a of m x k floats, w of n x k bytes, a scale for each row of w.
struct WeightOnlyInt8 {
  int64_t m, n, k;
  const float* a;
  const int8_t* w;
  const float* scales;
  float* c;
};
void multiply_int8_weight(const WeightOnlyInt8& product);

// Integers from 0 to 15 of n x k, n whole panels of 16: [n / 16][k / 8][16] words of eight successive terms;
// after them, terms of an incomplete word in bytes of two.
void pack_int4(const int32_t* values, int64_t n, int64_t k, uint8_t* packed);

// c = a w^T with w = (integer - 8) * scale + zero: a scale and a zero for each group of terms and column,
// [k / group][n][2].
struct WeightOnlyInt4 {
  int64_t m, n, k, group;
  const float* a;
  const uint8_t* packed;
  const float* scales_and_zeros;
  float* c;
};
void multiply_int4_weight(const WeightOnlyInt4& product);

struct WeightOnlyFunctions {
  void (*int8)(const WeightOnlyInt8&);
  void (*int4)(const WeightOnlyInt4&);
};

}  // namespace tl::cpu

// Embedding bags of a table whose rows are integers of 8, 4 or 2 bits with a scale and a bias of their own.
#pragma once

#include <cstdint>

namespace tl::cpu {

// A row is `bytes` of integers, the first in the lowest bits, then its scale and its bias: of float32 for 8
// bits, of float16 otherwise. `stride` is the length of a row with both.
struct QuantizedRows {
  const uint8_t* data;
  int64_t bytes, stride;
  int bits;
};

// Bag b has the rows indices[offsets[b]] … indices[offsets[b + 1] - 1], less those below 0. `factors`
// multiplies each row, unless null; `mean` divides by the number of rows.
struct QuantizedBags {
  int64_t count;
  const int64_t *indices, *offsets;
  const float* factors;
  bool mean;
};

// out[b] has bytes · 8 / bits numbers, the same on every level.
void sum_quantized_bags(const QuantizedRows& table, const QuantizedBags& bags, float* out);

}  // namespace tl::cpu

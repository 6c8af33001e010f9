// Bytes of quantized tensors: functions for the rules of operators on quantized tensors.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// rint(x * (1 / scale)) + zero_point of numbers of float32, clamped; NaN becomes 0. The scale isn't checked.
Tensor requantized_bytes(const Tensor& x, double scale, int64_t zero_point, bool is_signed);

struct ByteOperand {
  const Tensor& integers;
  double scale;
  int64_t zero_point;
};
// rint((x * y) / scale) + zero_point of the numbers of two operands of one shape and type, clamped.
Tensor multiplied_bytes(const ByteOperand& x, const ByteOperand& y, double scale, int64_t zero_point,
                        bool relu);

// Each byte, or `low` if that is larger.
Tensor clamped_bytes(const Tensor& integers, int64_t low);
void clamp_min_bytes_(const Tensor& integers, int64_t low);

// table[byte] of each byte, which counts as unsigned; the table has 256 bytes and the type of the result.
Tensor look_up_bytes(const Tensor& integers, const Tensor& table);

}  // namespace tl

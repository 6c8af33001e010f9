// Numbers as bytes with a scale and a zero point, numbers of bytes, their sums and products. Elements are
// dense.
#pragma once

#include <cstdint>

namespace tl::cpu {

struct ByteScale {
  float scale;
  int32_t zero_point;
};

// rint(fma(x, 1 / scale, zero_point)), clamped; NaN becomes the largest byte.
struct QuantizedBytes {
  int64_t n;
  const float* x;
  ByteScale to;
  bool is_signed;
  uint8_t* out;
};
void quantize_bytes(const QuantizedBytes& task);

// rint(x * (1 / scale)) + zero_point, clamped; NaN becomes 0. So are the results of operators rounded.
void requantize_bytes(const QuantizedBytes& task);

// (x - zero_point) * scale.
struct DequantizedBytes {
  int64_t n;
  const uint8_t* x;
  ByteScale of;
  bool is_signed;
  float* out;
};
void dequantize_bytes(const DequantizedBytes& task);

// rint((x + y) / scale) + zero_point of the numbers x and y, clamped from `low` on.
struct AddedBytes {
  int64_t n;
  const uint8_t *x, *y;
  ByteScale of_x, of_y, to;
  int32_t low;
  bool is_signed;
  uint8_t* out;
};
void add_bytes(const AddedBytes& task);
// The same of the product of the numbers.
void multiply_bytes(const AddedBytes& task);

// Each byte, or `low` if that is larger.
struct ClampedBytes {
  int64_t n;
  const uint8_t* x;
  int32_t low;
  bool is_signed;
  uint8_t* out;
};
void clamp_min_bytes(const ClampedBytes& task);

// table[byte] of each byte.
struct BytesInTable {
  int64_t n;
  const uint8_t *x, *table;
  uint8_t* out;
};
void look_up_bytes(const BytesInTable& task);

struct ByteFunctions {
  void (*quantize)(const QuantizedBytes&);
  void (*dequantize)(const DequantizedBytes&);
  void (*add)(const AddedBytes&);
  void (*requantize)(const QuantizedBytes&);
  void (*multiply)(const AddedBytes&);
  void (*clamp_min)(const ClampedBytes&);
  void (*look_up)(const BytesInTable&);
};

}  // namespace tl::cpu

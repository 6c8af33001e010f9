// Products of unsigned bytes with packed signed bytes: sums in int32, which an epilogue writes as float, as
// bytes or as they are. The sums are exact, so they are equal on every ISA level.
#pragma once

#include <cstdint>

namespace tl::cpu {

// Columns of a panel, and terms that lie together: [n / 16][k / 4][16][4], zeros at the end of n and k.
inline constexpr int kPanelColumns = 16, kQuad = 4;
constexpr int64_t int8_quads(int64_t k) { return (k + kQuad - 1) / kQuad; }
constexpr int64_t int8_panels(int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns; }
constexpr int64_t packed_int8_bytes(int64_t k, int64_t n) {
  return int8_panels(n) * int8_quads(k) * kPanelColumns * kQuad;
}

// b: k x n of int8, with strides in elements. `column_sums` takes the sums of n columns, or is null.
struct Int8Matrix {
  const int8_t* data;
  int64_t row_stride, column_stride;
};
void pack_int8(const Int8Matrix& b, int64_t k, int64_t n, int8_t* packed, int32_t* column_sums);

// a, of m x k bytes with the zero point `a_zero`, times b, whose columns have the zero points `b_zero` (null:
// 0). Rows of a lie `a_row` bytes apart, and whole quads of them are readable. Arrays over columns are as
// long as whole panels.
enum class Int8Output : uint8_t { Float, Bytes, Int32 };
constexpr int64_t int8_output_bytes(Int8Output kind) { return kind == Int8Output::Bytes ? 1 : 4; }
struct Int8Product {
  int64_t m, n, k;
  const uint8_t* a;
  int64_t a_row;
  int32_t a_zero;
  const int8_t* b;  // packed
  const int32_t* column_sums;
  const int32_t* b_zero = nullptr;
  bool seven_bits = false;  // whether all of a is at most 128
  int64_t readable = 0;     // rows of a that are readable, if more than m
};

// What becomes of an exact sum s. Float: fma(s, scale[j], added[j]), and of that the positive part if `relu`.
// Bytes: rint((s + added[j]) * scale[j]) + zero_point, from low to high. Int32: s, which wraps.
struct Int8Epilogue {
  Int8Output kind;
  char* out;
  int64_t row;  // bytes between rows of the output, whose elements are dense
  const float* scale = nullptr;
  const float* added = nullptr;
  int32_t zero_point = 0, low = 0, high = 255;
  bool relu = false;
};
// Rows that are this long, in groups of 32, are read where they lie by every kernel.
// No power of two, as rows would share the lines of a cache.
constexpr int64_t int8_row_bytes(int64_t k) { return (k + 63) / 64 * 64 + ((k + 63) / 64 % 4 == 0 ? 64 : 0); }
constexpr int64_t int8_readable_rows(int64_t m) { return m < 16 ? m : (m + 31) / 32 * 32; }
void gemm_packed_int8(const Int8Product& product, const Int8Epilogue& to);

// The smallest and the largest number, and whether all are numbers.
struct FloatRange {
  float low, high;
  bool has_nan;
};
FloatRange float_range(const float* x, int64_t n);

// Rows of floats as bytes: rint(fma(x, 1 / scale, zero_point)), from 0 to `high`; zeros up to whole quads.
struct ByteRows {
  const float* x;
  int64_t rows, columns;
  float inverse_scale, zero_point, high;
  uint8_t* out;
  int64_t out_row;
};
void quantize_rows(const ByteRows& rows);

// Rows of bytes, copied to whole quads; `flip` is what every byte is xored with.
struct CopiedBytes {
  const uint8_t* x;
  int64_t rows, columns, row_stride, column_stride;
  uint8_t flip;
  uint8_t* out;
  int64_t out_row;
};
void copy_byte_rows(const CopiedBytes& rows);

// The functions above, for one ISA level.
struct Int8Operands {
  void (*pack)(const Int8Matrix& b, int64_t k, int64_t n, int8_t* packed, int32_t* column_sums);
  FloatRange (*range)(const float* x, int64_t n);
  void (*quantize)(const ByteRows& rows);
  void (*copy)(const CopiedBytes& rows);
};

}  // namespace tl::cpu

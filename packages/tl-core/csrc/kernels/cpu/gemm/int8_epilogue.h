// What becomes of the sums of an int8 product: floats, bytes or the sums themselves.
#pragma once

#include <cstring>

#include "kernels/cpu/gemm/int8_tile.h"
#include "kernels/cpu/simd/bytes.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

using VecU = Pack<uint32_t, kLanesI>;  // wraps

// What completes the sums of columns of whole panels: -a_zero * column_sums, and terms * a_zero * b_zero
// where b has zero points.
struct Int8Zeros {
  int32_t a_zero;
  int64_t terms;
  const int32_t *column_sums, *b_zero;
};
inline void fill_shift(const Int8Zeros& z, int64_t columns, int32_t* shift) {
  const auto a_zero = static_cast<uint32_t>(z.a_zero), all = static_cast<uint32_t>(z.terms) * a_zero;
  for (int64_t j = 0; j < columns; ++j) {
    uint32_t s = 0u - a_zero * static_cast<uint32_t>(z.column_sums[j]);
    if (z.b_zero) s += all * static_cast<uint32_t>(z.b_zero[j]);
    shift[j] = static_cast<int32_t>(s);
  }
}

// Writes rows of a tile. `shift` and `row_sums` complete the sums: s + shift[j] - b_zero[j] * row_sums[i].
class Int8Writer {
 public:
  Int8Writer(const Int8Epilogue& to, const int32_t* shift, const int32_t* b_zero, const int32_t* row_sums)
      : to_(to), shift_(shift), b_zero_(b_zero), row_sums_(row_sums) {}

  // The sums of `rows` rows and `columns` columns from (row, column) on.
  void operator()(const int32_t* sums, int64_t row, int64_t column, int rows, int columns) const {
    for (int64_t r = row; r < row + rows; ++r, sums += kTileColumns) {
      if (to_.kind == Int8Output::Float)
        write_row<Int8Output::Float>(sums, r, column, columns);
      else if (to_.kind == Int8Output::Bytes)
        write_row<Int8Output::Bytes>(sums, r, column, columns);
      else
        write_row<Int8Output::Int32>(sums, r, column, columns);
    }
  }

 private:
  const Int8Epilogue& to_;
  const int32_t *shift_, *b_zero_, *row_sums_;

  template <Int8Output kind>
  TL_INLINE void write_row(const int32_t* sums, int64_t row, int64_t first, int columns) const {
    constexpr int64_t size = kind == Int8Output::Bytes ? 1 : 4;
    char* out = to_.out + row * to_.row + first * size;
    alignas(64) char part[kVecBytes];
    for (int c = 0; c < columns; c += kLanesI) {
      const VecU s = complete(sums + c, row, first + c);
      char* at = columns - c >= kLanesI ? out + c * size : part;
      if constexpr (kind == Int8Output::Float)
        write(at, as_float(s, first + c));
      else if constexpr (kind == Int8Output::Bytes)
        write_bytes(at, as_bytes(s, first + c));
      else
        write(at, s);
      if (at == part) std::memcpy(out + c * size, part, static_cast<size_t>((columns - c) * size));
    }
  }

  TL_INLINE VecU complete(const int32_t* sums, int64_t row, int64_t j) const {
    VecU s = vector_at<VecU>(sums) + vector_at<VecU>(shift_ + j);
    if (b_zero_) s -= vector_at<VecU>(b_zero_ + j) * static_cast<uint32_t>(row_sums_[row]);
    return s;
  }

  TL_INLINE VecF as_float(VecU sums, int64_t j) const {
    const VecF s = __builtin_convertvector(bitcast<VecI>(sums), VecF);
    const VecF y = exact_fma(s, vector_at<VecF>(to_.scale + j), vector_at<VecF>(to_.added + j));
    return to_.relu ? select<VecF>(y < 0.0f, VecF{}, y) : y;
  }

  TL_INLINE VecI as_bytes(VecU sums, int64_t j) const {
    const VecF s = __builtin_convertvector(bitcast<VecI>(sums), VecF);
    const VecF y = (s + vector_at<VecF>(to_.added + j)) * vector_at<VecF>(to_.scale + j);
    const VecF low = VecF{} + static_cast<float>(to_.low - to_.zero_point);
    const VecF high = VecF{} + static_cast<float>(to_.high - to_.zero_point);
    return rounded(y, low, high) + to_.zero_point;
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

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
#if TL_ISA_LEVEL >= 4
    if (to_.kind == Int8Output::Bytes && !b_zero_) return write_bytes_of(sums, row, column, rows, columns);
#endif
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

#if TL_ISA_LEVEL >= 4
  void write_bytes_of(const int32_t* sums, int64_t row, int64_t column, int rows, int columns) const {
    const int vectors = (columns + 15) / 16;
    vectors == 1   ? write_vectors<1>(sums, row, column, rows, columns)
    : vectors == 2 ? write_vectors<2>(sums, row, column, rows, columns)
    : vectors == 3 ? write_vectors<3>(sums, row, column, rows, columns)
                   : write_vectors<4>(sums, row, column, rows, columns);
  }

  // Up to 64 columns of each row at once. Narrowing saturates, so only numbers that int32 lacks are clamped
  // before.
  template <int V>
  void write_vectors(const int32_t* sums, int64_t row, int64_t column, int rows, int columns) const {
    const bool is_signed = to_.low < 0 || to_.high < 128;
    const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(to_.zero_point));
    const __m512i low = _mm512_set1_epi8(static_cast<char>(to_.low)),
                  order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __mmask64 lanes = columns == 64 ? ~__mmask64{0} : (__mmask64{1} << columns) - 1;
    __m512i shift[4];
    __m512 scale[4], added[4];
    for (int v = 0; v < V; ++v) {
      shift[v] = _mm512_loadu_si512(shift_ + column + 16 * v);
      scale[v] = _mm512_loadu_ps(to_.scale + column + 16 * v);
      added[v] = _mm512_loadu_ps(to_.added + column + 16 * v);
    }
    char* out = to_.out + row * to_.row + column;
    for (int r = 0; r < rows; ++r, sums += kTileColumns, out += to_.row) {
      __m512i x[4] = {};
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m512i s = _mm512_add_epi32(_mm512_loadu_si512(sums + 16 * v), shift[v]);
        const __m512 y = _mm512_mul_ps(_mm512_add_ps(_mm512_cvtepi32_ps(s), added[v]), scale[v]);
        x[v] = _mm512_cvtps_epi32(_mm512_min_ps(y, _mm512_set1_ps(0x1p30f)));
      }
      const __m512i left = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), zero);
      const __m512i right = _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), zero);
      __m512i bytes = is_signed ? _mm512_max_epi8(_mm512_packs_epi16(left, right), low)
                                : _mm512_max_epu8(_mm512_packus_epi16(left, right), low);
      _mm512_mask_storeu_epi8(out, lanes, _mm512_permutexvar_epi32(order, bytes));
    }
  }
#endif

  template <Int8Output kind>
  TL_INLINE void write_row(const int32_t* sums, int64_t row, int64_t first, int columns) const {
    constexpr int64_t size = int8_output_bytes(kind);
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

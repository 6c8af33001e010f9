// isa: all, by hand
// The operands of int8 products: columns packed to panels of quads, rows of floats and of bytes.
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "kernels/cpu/gemm/int8_epilogue.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/transpose.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements that a thread takes at least

// ---- columns ----------------------------------------------------------------------------------------------

class PanelPacker {
 public:
  PanelPacker(const Int8Matrix& b, int64_t k, int64_t n, int8_t* packed, int32_t* sums)
      : b_(b), k_(k), n_(n), packed_(packed), sums_(sums) {}

  void pack(int64_t panel) const {
    const int64_t column = panel * kPanelColumns, whole = k_ / kQuad;
    const int8_t* from = b_.data + column * b_.column_stride;
    int8_t* to = packed_ + panel * packed_int8_bytes(k_, 1);
    int64_t q = 0;
    if (n_ - column >= kPanelColumns && b_.row_stride == 1) q = by_columns(from, to, whole);
    if (n_ - column >= kPanelColumns && b_.column_stride == 1) q = by_rows(from, to, whole);
    for (; q < int8_quads(k_); ++q) one_by_one(from, to, q, n_ - column);
    if (sums_) add_up(to, sums_ + column);
  }

 private:
  const Int8Matrix& b_;
  int64_t k_, n_;
  int8_t* packed_;
  int32_t* sums_;
  static constexpr int64_t kLine = kPanelColumns * kQuad;

  // Squares of quads are transposed; returns how many quads are packed.
  int64_t by_columns(const int8_t* from, int8_t* to, int64_t quads) const {
    int64_t q = 0;
    for (; q + kLanesI <= quads; q += kLanesI) {
      for (int c = 0; c < kPanelColumns; c += kLanesI) {
        VecI square[kLanesI];
        for (int i = 0; i < kLanesI; ++i)
          square[i] = vector_at<VecI>(from + (c + i) * b_.column_stride + q * kQuad);
        RegisterTranspose<int32_t>::transpose(square);
        for (int i = 0; i < kLanesI; ++i)
          write(reinterpret_cast<char*>(to + (q + i) * kLine + c * kQuad), square[i]);
      }
    }
    return q;
  }

  int64_t by_rows(const int8_t* from, int8_t* to, int64_t quads) const {
    for (int64_t q = 0; q < quads; ++q, to += kLine) {
      for (int c = 0; c < kPanelColumns; c += kLanesI) {
        VecI line = {};
        for (int e = 0; e < kQuad; ++e) {
          const int8_t* row = from + (q * kQuad + e) * b_.row_stride + c;
          line |= wide(vector_at<Pack<uint8_t, kLanesI>>(row), VecI{}) << (8 * e);
        }
        write(reinterpret_cast<char*>(to + c * kQuad), line);
      }
    }
    return quads;
  }

  void one_by_one(const int8_t* from, int8_t* to, int64_t q, int64_t columns) const {
    for (int64_t c = 0; c < kPanelColumns; ++c)
      for (int64_t e = 0; e < kQuad; ++e) {
        const int64_t row = q * kQuad + e;
        const bool inside = c < columns && row < k_;
        to[q * kLine + c * kQuad + e] = inside ? from[row * b_.row_stride + c * b_.column_stride] : int8_t{0};
      }
  }

  void add_up(const int8_t* panel, int32_t* sums) const {
    for (int c = 0; c < kPanelColumns; c += kLanesI) {
      VecI sum = {};
      for (int64_t q = 0; q < int8_quads(k_); ++q) {
        const VecI quads = vector_at<VecI>(panel + q * kLine + c * kQuad);
        sum += (quads << 24 >> 24) + (quads << 16 >> 24) + (quads << 8 >> 24) + (quads >> 24);
      }
      write(reinterpret_cast<char*>(sums + c), sum);
    }
  }
};

void pack(const Int8Matrix& b, int64_t k, int64_t n, int8_t* packed, int32_t* sums) {
  const PanelPacker packer(b, k, n, packed, sums);
  parallel_for(0, int8_panels(n), kGrain / (k * kPanelColumns + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) packer.pack(panel);
  });
}

// ---- rows -------------------------------------------------------------------------------------------------

FloatRange range_of(const float* x, int64_t n) {
  constexpr int64_t kStep = 4 * kLanesI;
  VecF low[4], high[4];
  VecI nan = {};
  for (int v = 0; v < 4; ++v) low[v] = high[v] = VecF{} + x[0];
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (int v = 0; v < 4; ++v) {
      const VecF y = vector_at<VecF>(x + i + v * kLanesI);
      low[v] = select<VecF>(y < low[v], y, low[v]);
      high[v] = select<VecF>(y > high[v], y, high[v]);
      nan |= y != y;
    }
  }
  FloatRange range{x[0], x[0], any(nan)};
  for (int v = 0; v < 4; ++v)
    for (int e = 0; e < kLanesI; ++e) {
      range.low = std::min(range.low, low[v][e]);
      range.high = std::max(range.high, high[v][e]);
    }
  for (; i < n; ++i) {
    range.low = std::min(range.low, x[i]);
    range.high = std::max(range.high, x[i]);
    range.has_nan |= x[i] != x[i];
  }
  return range;
}

void quantize_row(const ByteRows& r, const float* x, uint8_t* out) {
  const VecF inverse = VecF{} + r.inverse_scale, zero = VecF{} + r.zero_point, high = VecF{} + r.high;
  int64_t i = 0;
  const auto bytes = [&](VecF y) { return rounded(exact_fma(y, inverse, zero), VecF{}, high); };
  for (; i + kLanesI <= r.columns; i += kLanesI)
    write_bytes(reinterpret_cast<char*>(out + i), bytes(vector_at<VecF>(x + i)));
  if (i < r.columns) {
    VecF rest = {};
    std::memcpy(&rest, x + i, static_cast<size_t>(r.columns - i) * sizeof(float));
    char last[kLanesI];
    write_bytes(last, bytes(rest));
    std::memcpy(out + i, last, static_cast<size_t>(r.columns - i));
  }
  for (i = r.columns; i % kQuad; ++i) out[i] = 0;
}

void quantize(const ByteRows& r) {
  parallel_for(0, r.rows, kGrain / (r.columns + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) quantize_row(r, r.x + i * r.columns, r.out + i * r.out_row);
  });
}

void copy_row(const CopiedBytes& r, const uint8_t* x, uint8_t* out) {
  if (r.column_stride == 1)
    for (int64_t i = 0; i < r.columns; ++i) out[i] = static_cast<uint8_t>(x[i] ^ r.flip);
  else
    for (int64_t i = 0; i < r.columns; ++i) out[i] = static_cast<uint8_t>(x[i * r.column_stride] ^ r.flip);
  for (int64_t i = r.columns; i % kQuad; ++i) out[i] = 0;
}

void copy_rows(const CopiedBytes& r) {
  parallel_for(0, r.rows, kGrain / (r.columns + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) copy_row(r, r.x + i * r.row_stride, r.out + i * r.out_row);
  });
}

}  // namespace

extern const Int8Operands int8_operands = {&pack, &range_of, &quantize, &copy_rows};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const Int8Operands int8_operands)

namespace tl::cpu {

void pack_int8(const Int8Matrix& b, int64_t k, int64_t n, int8_t* packed, int32_t* sums) {
  TL_SELECT(int8_operands).pack(b, k, n, packed, sums);
}

FloatRange float_range(const float* x, int64_t n) {
  constexpr int64_t kPart = 1 << 16;
  const int64_t parts = (n + kPart - 1) / kPart;
  if (parts <= 1) return TL_SELECT(int8_operands).range(x, n);
  base::Workspace<FloatRange> ranges(parts);
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ranges.data()[i] = TL_SELECT(int8_operands).range(x + i * kPart, std::min(kPart, n - i * kPart));
  });
  FloatRange all = ranges.data()[0];
  for (int64_t i = 1; i < parts; ++i) {
    const FloatRange& part = ranges.data()[i];
    all = {std::min(all.low, part.low), std::max(all.high, part.high), all.has_nan || part.has_nan};
  }
  return all;
}

void quantize_rows(const ByteRows& rows) { TL_SELECT(int8_operands).quantize(rows); }
void copy_byte_rows(const CopiedBytes& rows) { TL_SELECT(int8_operands).copy(rows); }

}  // namespace tl::cpu
#endif

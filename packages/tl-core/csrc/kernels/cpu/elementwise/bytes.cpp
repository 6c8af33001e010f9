// isa: all, by hand
// Quantized bytes element by element, a vector of floats at a time.
#include "kernels/cpu/elementwise/bytes.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "kernels/cpu/simd/bytes.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kGrain = 1 << 16;

VecF splat(double x) { return VecF{} + static_cast<float>(x); }

// Steps of a scale as bytes: rounded, a zero point added, clamped.
template <bool is_signed>
struct Rounding {
  Rounding(int32_t zero, int32_t least)
      : low(splat(least - zero)),
        high(splat((is_signed ? 127 : 255) - zero)),
        zero_point(zero),
        lowest(least) {}

  VecI operator()(VecF steps) const { return rounded(steps, low, high) + zero_point; }

#if TL_ISA_LEVEL == 3
  // Packing saturates, first to 16 bits, where the zero point is added, and then to 8. NaN becomes the
  // largest byte.
  TL_INLINE __m256i halves(VecF x, VecF y) const {
    const VecF most = splat(0x7FFFFF80);  // the largest float that is an int32
    const __m256i packed = _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_min_ps(x, most)),
                                              _mm256_cvtps_epi32(_mm256_min_ps(y, most)));
    return _mm256_adds_epi16(packed, _mm256_set1_epi16(static_cast<int16_t>(zero_point)));
  }

  TL_INLINE void write_line(uint8_t* out, VecF a, VecF b, VecF c, VecF d) const {
    const __m256i order =
        _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // the halves of a register are packed apart
    const __m256i ab = halves(a, b), cd = halves(c, d), least = _mm256_set1_epi8(static_cast<char>(lowest));
    const __m256i line = is_signed ? _mm256_max_epi8(_mm256_packs_epi16(ab, cd), least)
                                   : _mm256_max_epu8(_mm256_packus_epi16(ab, cd), least);
    write(reinterpret_cast<char*>(out), _mm256_permutevar8x32_epi32(line, order));
  }
#else
  TL_INLINE void write_line(uint8_t* out, VecF a, VecF b, VecF c, VecF d) const {
    char* const to = reinterpret_cast<char*>(out);
    write_bytes(to, (*this)(a));
    write_bytes(to + kLanesI, (*this)(b));
    write_bytes(to + 2 * kLanesI, (*this)(c));
    write_bytes(to + 3 * kLanesI, (*this)(d));
  }
#endif

  VecF low, high;
  int32_t zero_point, lowest;
};

template <bool is_signed>
constexpr int32_t kLowest = is_signed ? -128 : 0;

// The bytes of steps(i), a vector from element i on; the last ones of last(i, count). Both own what they
// read: a copy on the stack stays in registers, where a reference would be read again after each store of
// bytes.
template <class Format, class Steps, class Last>
void each_vector(int64_t n, uint8_t* out, Format format, Steps steps, Last last) {
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    const Steps at = steps;
    const Format bytes = format;
    uint8_t* const to = out;
    int64_t i = begin;
    for (; i + 4 * kLanesI <= end; i += 4 * kLanesI)
      bytes.write_line(to + i, at(i), at(i + kLanesI), at(i + 2 * kLanesI), at(i + 3 * kLanesI));
    for (; i + kLanesI <= end; i += kLanesI) write_bytes(reinterpret_cast<char*>(to + i), bytes(at(i)));
    if (i == end) return;
    char rest[kLanesI];
    const size_t count = static_cast<size_t>(end - i);
    write_bytes(rest, bytes(last(i, count)));
    std::memcpy(to + i, rest, count);
  });
}

// The bytes of steps(x) for each vector of numbers.
template <class Format, class Steps>
void each_number(const QuantizedBytes& t, Format format, Steps steps) {
  each_vector(
      t.n, t.out, format, [steps, x = t.x](int64_t i) { return steps(vector_at<VecF>(x + i)); },
      [&](int64_t i, size_t count) {
        VecF x = {};
        std::memcpy(&x, t.x + i, count * sizeof(float));
        return steps(x);
      });
}

template <bool is_signed>
void quantize(const QuantizedBytes& t) {
  const VecF inverse = splat(1.0f / t.to.scale), zero = splat(t.to.zero_point);
  each_number(t, Rounding<is_signed>(0, kLowest<is_signed>),
              [=](VecF x) { return exact_fma(x, inverse, zero); });
}

template <bool is_signed>
void requantize(const QuantizedBytes& t) {
  const VecF inverse = splat(1.0f / t.to.scale), of_nan = splat(-t.to.zero_point);
  each_number(t, Rounding<is_signed>(t.to.zero_point, kLowest<is_signed>), [=](VecF x) {
    const VecF steps = x * inverse;
    return select<VecF>(steps == steps, steps, of_nan);
  });
}

template <bool is_signed>
TL_INLINE VecF number(const uint8_t* p, VecI zero, VecF scale) {
  return __builtin_convertvector(read_bytes(p, is_signed) - zero, VecF) * scale;
}

template <bool is_signed>
void dequantize(const DequantizedBytes& t) {
  parallel_for(0, t.n, kGrain, [&](int64_t begin, int64_t end) {
    const VecF scale = splat(t.of.scale);
    const VecI zero = VecI{} + t.of.zero_point;
    const uint8_t* const from = t.x;
    float* const to = t.out;
    int64_t i = begin;
    for (; i + kLanesI <= end; i += kLanesI)
      write(reinterpret_cast<char*>(to + i), number<is_signed>(from + i, zero, scale));
    if (i == end) return;
    uint8_t x[kLanesI] = {};
    std::memcpy(x, from + i, static_cast<size_t>(end - i));
    const VecF y = number<is_signed>(x, zero, scale);
    std::memcpy(to + i, &y, static_cast<size_t>(end - i) * sizeof(float));
  });
}

// The bytes of steps(x, y) for each pair of vectors of bytes.
template <class Format, class Steps>
void each_pair(const AddedBytes& t, Format format, Steps steps) {
  each_vector(
      t.n, t.out, format, [steps, x = t.x, y = t.y](int64_t i) { return steps(x + i, y + i); },
      [&](int64_t i, size_t count) {
        uint8_t x[kLanesI] = {}, y[kLanesI] = {};
        std::memcpy(x, t.x + i, count);
        std::memcpy(y, t.y + i, count);
        return steps(x, y);
      });
}

template <bool is_signed>
VecF floats(const uint8_t* p) {
  return __builtin_convertvector(read_bytes(p, is_signed), VecF);
}

// Numbers are fma(byte, scale, -scale * zero_point), as in PyTorch's operators.
template <bool is_signed>
void add(const AddedBytes& t) {
  const VecF scale_x = splat(t.of_x.scale), scale_y = splat(t.of_y.scale), inverse = splat(1.0f / t.to.scale);
  const VecF shift_x = scale_x * splat(-t.of_x.zero_point), shift_y = scale_y * splat(-t.of_y.zero_point);
  each_pair(t, Rounding<is_signed>(t.to.zero_point, t.low), [=](const uint8_t* x, const uint8_t* y) {
    return (exact_fma(floats<is_signed>(x), scale_x, shift_x) +
            exact_fma(floats<is_signed>(y), scale_y, shift_y)) *
           inverse;
  });
}

template <bool is_signed>
void multiply(const AddedBytes& t) {
  const VecF factor = splat(t.of_x.scale * t.of_y.scale * (1.0f / t.to.scale));
  const VecI zero_x = VecI{} + t.of_x.zero_point, zero_y = VecI{} + t.of_y.zero_point;
  each_pair(t, Rounding<is_signed>(t.to.zero_point, t.low), [=](const uint8_t* x, const uint8_t* y) {
    const VecI product = (read_bytes(x, is_signed) - zero_x) * (read_bytes(y, is_signed) - zero_y);
    return __builtin_convertvector(product, VecF) * factor;
  });
}

template <class Byte>
void clamp_min(const ClampedBytes& t) {
  constexpr int64_t kBytes = kLanes<Byte>;
  using Line = Pack<Byte, kBytes>;
  const Line low = Line{} + static_cast<Byte>(t.low);
  parallel_for(0, t.n, kGrain, [&](int64_t begin, int64_t end) {
    const Line least = low;
    const uint8_t* const from = t.x;
    uint8_t* const to = t.out;
    int64_t i = begin;
    for (; i + kBytes <= end; i += kBytes) {
      const Line x = vector_at<Line>(from + i);
      write(reinterpret_cast<char*>(to + i), x > least ? x : least);
    }
    for (; i < end; ++i)
      t.out[i] = static_cast<uint8_t>(std::max(static_cast<Byte>(t.x[i]), static_cast<Byte>(t.low)));
  });
}

#if TL_ISA_LEVEL >= 3
// A table of 256 bytes as 16 lines of 16 bytes, each in both halves of a register.
struct Table {
  explicit Table(const uint8_t* bytes) {
    for (int i = 0; i < 16; ++i)
      lines[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i));
  }

  // The low four bits choose a byte of each line, and the high ones choose the line, bit by bit.
  TL_INLINE __m256i at(__m256i x) const {
    const __m256i low = _mm256_and_si256(x, _mm256_set1_epi8(15));
    __m256i bytes[16];
    for (int i = 0; i < 16; ++i) bytes[i] = _mm256_shuffle_epi8(lines[i], low);
    for (int bit = 0; bit < 4; ++bit) {
      const __m256i chosen = _mm256_slli_epi16(x, 3 - bit);  // the bit is the sign of the byte
      for (int i = 0; i < 8 >> bit; ++i)
        bytes[i] = _mm256_blendv_epi8(bytes[2 * i], bytes[2 * i + 1], chosen);
    }
    return bytes[0];
  }

  __m256i lines[16];
};
#endif

void look_up(const BytesInTable& t) {
  parallel_for(0, t.n, kGrain, [&](int64_t begin, int64_t end) {
    const uint8_t* const from = t.x;
    uint8_t* const to = t.out;
    int64_t i = begin;
#if TL_ISA_LEVEL >= 3
    const Table table(t.table);
    for (; i + 32 <= end; i += 32)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                          table.at(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
#endif
    uint8_t bytes[256];
    std::memcpy(bytes, t.table, sizeof bytes);
    for (; i < end; ++i) to[i] = bytes[from[i]];
  });
}

void quantize_any(const QuantizedBytes& t) { t.is_signed ? quantize<true>(t) : quantize<false>(t); }
void requantize_any(const QuantizedBytes& t) { t.is_signed ? requantize<true>(t) : requantize<false>(t); }
void dequantize_any(const DequantizedBytes& t) { t.is_signed ? dequantize<true>(t) : dequantize<false>(t); }
void add_any(const AddedBytes& t) { t.is_signed ? add<true>(t) : add<false>(t); }
void multiply_any(const AddedBytes& t) { t.is_signed ? multiply<true>(t) : multiply<false>(t); }
void clamp_min_any(const ClampedBytes& t) { t.is_signed ? clamp_min<int8_t>(t) : clamp_min<uint8_t>(t); }

}  // namespace

extern const ByteFunctions byte_functions = {&quantize_any, &dequantize_any, &add_any, &requantize_any,
                                             &multiply_any, &clamp_min_any,  &look_up};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const ByteFunctions byte_functions)

namespace tl::cpu {

void quantize_bytes(const QuantizedBytes& task) { TL_SELECT(byte_functions).quantize(task); }
void dequantize_bytes(const DequantizedBytes& task) { TL_SELECT(byte_functions).dequantize(task); }
void add_bytes(const AddedBytes& task) { TL_SELECT(byte_functions).add(task); }
void requantize_bytes(const QuantizedBytes& task) { TL_SELECT(byte_functions).requantize(task); }
void multiply_bytes(const AddedBytes& task) { TL_SELECT(byte_functions).multiply(task); }
void look_up_bytes(const BytesInTable& task) { TL_SELECT(byte_functions).look_up(task); }
void clamp_min_bytes(const ClampedBytes& task) { TL_SELECT(byte_functions).clamp_min(task); }

}  // namespace tl::cpu
#endif

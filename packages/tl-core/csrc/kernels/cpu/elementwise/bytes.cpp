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

// Four vectors of integers of 8 bits as bytes.
TL_INLINE void write_line(uint8_t* out, VecI a, VecI b, VecI c, VecI d) {
  char* to = reinterpret_cast<char*>(out);
#if TL_ISA_LEVEL == 3
  const VecI byte = VecI{} + 255;
  const __m256i low = _mm256_packus_epi32(bitcast<__m256i>(a & byte), bitcast<__m256i>(b & byte));
  const __m256i high = _mm256_packus_epi32(bitcast<__m256i>(c & byte), bitcast<__m256i>(d & byte));
  const __m256i order =
      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // the halves of a register are packed apart
  write(to, _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order));
#else
  write_bytes(to, a);
  write_bytes(to + kLanesI, b);
  write_bytes(to + 2 * kLanesI, c);
  write_bytes(to + 3 * kLanesI, d);
#endif
}

// bytes(first) for each vector of elements; the last ones by `rest(first, count)`. Both own what they read: a
// copy on the stack stays in registers, where a reference would be read again after each store of bytes.
template <class Bytes, class Rest>
void each_vector(int64_t n, uint8_t* out, Bytes bytes, Rest rest) {
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    const Bytes at = bytes;
    uint8_t* const to = out;
    int64_t i = begin;
    for (; i + 4 * kLanesI <= end; i += 4 * kLanesI)
      write_line(to + i, at(i), at(i + kLanesI), at(i + 2 * kLanesI), at(i + 3 * kLanesI));
    for (; i + kLanesI <= end; i += kLanesI) write_bytes(reinterpret_cast<char*>(to + i), at(i));
    if (i < end) rest(i, static_cast<size_t>(end - i));
  });
}

// bytes(x) for each vector of numbers.
template <class F>
void each_number(const QuantizedBytes& t, F bytes) {
  each_vector(
      t.n, t.out, [bytes, x = t.x](int64_t i) { return bytes(vector_at<VecF>(x + i)); },
      [&](int64_t i, size_t count) {
        VecF x = {};
        std::memcpy(&x, t.x + i, count * sizeof(float));
        char last[kLanesI];
        write_bytes(last, bytes(x));
        std::memcpy(t.out + i, last, count);
      });
}

void quantize(const QuantizedBytes& t) {
  const VecF inverse = splat(1.0f / t.to.scale), zero = splat(t.to.zero_point);
  const VecF low = splat(t.is_signed ? -128 : 0), high = splat(t.is_signed ? 127 : 255);
  each_number(t, [=](VecF x) { return rounded(exact_fma(x, inverse, zero), low, high); });
}

void requantize(const QuantizedBytes& t) {
  const VecF inverse = splat(1.0f / t.to.scale);
  const int32_t zero = t.to.zero_point;
  const VecF low = splat((t.is_signed ? -128 : 0) - zero), high = splat((t.is_signed ? 127 : 255) - zero);
  each_number(t, [=](VecF x) {
    const VecF steps = x * inverse;
    return select<VecI>(steps == steps, rounded(steps, low, high) + zero, VecI{});
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

// bytes(x, y) for each pair of vectors of bytes.
template <class F>
void each_pair(const AddedBytes& t, F bytes) {
  each_vector(
      t.n, t.out, [bytes, x = t.x, y = t.y](int64_t i) { return bytes(x + i, y + i); },
      [&](int64_t i, size_t count) {
        uint8_t x[kLanesI] = {}, y[kLanesI] = {};
        std::memcpy(x, t.x + i, count);
        std::memcpy(y, t.y + i, count);
        char last[kLanesI];
        write_bytes(last, bytes(x, y));
        std::memcpy(t.out + i, last, count);
      });
}

// The bytes of numbers in steps of the result's scale.
template <bool is_signed>
struct Rounding {
  explicit Rounding(const AddedBytes& t)
      : low(splat(t.low - t.to.zero_point)),
        high(splat((is_signed ? 127 : 255) - t.to.zero_point)),
        zero_point(t.to.zero_point) {}
  VecI operator()(VecF steps) const { return rounded(steps, low, high) + zero_point; }
  VecF low, high;
  int32_t zero_point;
};

template <bool is_signed>
void add(const AddedBytes& t) {
  const VecF scale_x = splat(t.of_x.scale), scale_y = splat(t.of_y.scale), inverse = splat(1.0f / t.to.scale);
  const VecI zero_x = VecI{} + t.of_x.zero_point, zero_y = VecI{} + t.of_y.zero_point;
  const Rounding<is_signed> bytes(t);
  each_pair(t, [=](const uint8_t* x, const uint8_t* y) {
    return bytes((number<is_signed>(x, zero_x, scale_x) + number<is_signed>(y, zero_y, scale_y)) * inverse);
  });
}

template <bool is_signed>
void multiply(const AddedBytes& t) {
  const VecF factor = splat(t.of_x.scale * t.of_y.scale * (1.0f / t.to.scale));
  const VecI zero_x = VecI{} + t.of_x.zero_point, zero_y = VecI{} + t.of_y.zero_point;
  const Rounding<is_signed> bytes(t);
  each_pair(t, [=](const uint8_t* x, const uint8_t* y) {
    const VecI product = (read_bytes(x, is_signed) - zero_x) * (read_bytes(y, is_signed) - zero_y);
    return bytes(__builtin_convertvector(product, VecF) * factor);
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

void dequantize_any(const DequantizedBytes& t) { t.is_signed ? dequantize<true>(t) : dequantize<false>(t); }
void add_any(const AddedBytes& t) { t.is_signed ? add<true>(t) : add<false>(t); }
void multiply_any(const AddedBytes& t) { t.is_signed ? multiply<true>(t) : multiply<false>(t); }
void clamp_min_any(const ClampedBytes& t) { t.is_signed ? clamp_min<int8_t>(t) : clamp_min<uint8_t>(t); }

}  // namespace

extern const ByteFunctions byte_functions = {&quantize,   &dequantize_any, &add_any,
                                             &requantize, &multiply_any,   &clamp_min_any};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const ByteFunctions byte_functions)

namespace tl::cpu {

void quantize_bytes(const QuantizedBytes& task) { TL_SELECT(byte_functions).quantize(task); }
void dequantize_bytes(const DequantizedBytes& task) { TL_SELECT(byte_functions).dequantize(task); }
void add_bytes(const AddedBytes& task) { TL_SELECT(byte_functions).add(task); }
void requantize_bytes(const QuantizedBytes& task) { TL_SELECT(byte_functions).requantize(task); }
void multiply_bytes(const AddedBytes& task) { TL_SELECT(byte_functions).multiply(task); }
void clamp_min_bytes(const ClampedBytes& task) { TL_SELECT(byte_functions).clamp_min(task); }

}  // namespace tl::cpu
#endif

// Random sampling from mt19937: uniform, normal (Box-Muller), inversion, Bernoulli, integers, permutations.
#include "kernels/cpu/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "kernels/cpu/random/block_sampling.h"
#include "kernels/cpu/random/one_draw.h"

namespace tl::cpu {
namespace {

constexpr int64_t kChunk = 1024;  // elements made at a time

// ---- chunks of one type into elements of another ----------------------------------------------------------

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>)
    return To(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != From{};
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return static_cast<To>(x < 0x1p63 ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::max());
  else
    return static_cast<To>(x);
}

template <class To, class From>
void convert_to(const From* in, int64_t n, To* out) {
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>)
    TL_SELECT(round_to_half)(in, n, out);
  else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, BFloat16>)
    TL_SELECT(round_to_bfloat16)(in, n, out);
  else
    for (int64_t i = 0; i < n; ++i) out[i] = converted<To>(in[i]);
}

template <class From>
void convert(DType dtype, const From* in, int64_t n, void* out) {
  switch (dtype) {
#define TL_CONVERT(E, T) \
  case DType::E:         \
    return convert_to(in, n, static_cast<T*>(out));
    // clang-format off: a table, which the formatter would break anew each time
    TL_CONVERT(Bool, bool) TL_CONVERT(UInt8, uint8_t) TL_CONVERT(Int8, int8_t)
    TL_CONVERT(Int16, int16_t) TL_CONVERT(Int32, int32_t) TL_CONVERT(Int64, int64_t)
    TL_CONVERT(UInt16, uint16_t) TL_CONVERT(UInt32, uint32_t) TL_CONVERT(UInt64, uint64_t)
    TL_CONVERT(Float16, Half) TL_CONVERT(BFloat16, BFloat16) TL_CONVERT(Float32, float)
    TL_CONVERT(Float64, double)
#undef TL_CONVERT
    default: __builtin_unreachable();  // operators refuse complex numbers
    // clang-format on
  }
}

// make(values, count) for one chunk after the other; Ctrl-C is noticed between them.
template <class Value, class Make>
void in_chunks(DType dtype, void* out, int64_t n, Make make) {
  alignas(64) Value values[kChunk];
  char* at = static_cast<char*>(out);
  for (int64_t done = 0; done < n; done += kChunk) {
    const int64_t count = std::min(kChunk, n - done);
    if (dtype == dtype_of<Value>) {
      make(reinterpret_cast<Value*>(at), count);
    } else {
      make(values, count);
      convert(dtype, values, count, at);
    }
    at += count * item_size(dtype);
    check_interrupt();
  }
}

// The same, where every number is drawn by itself.
template <class Draw>
void one_by_one(DType dtype, void* out, int64_t n, Draw draw) {
  in_chunks<double>(dtype, out, n, [&](double* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) values[i] = draw();
  });
}

// ---- uniform ----------------------------------------------------------------------------------------------

void draw_uniform(float* out, int64_t n, float from, float to, Generator& g) {
  uint32_t words[kChunk];
  g.engine().fill(words, n);
  TL_SELECT(uniform_floats)(words, n, from, to, out);
}
void draw_uniform(double* out, int64_t n, double from, double to, Generator& g) {
  uint32_t words[2 * kChunk];
  g.engine().fill(words, 2 * n);
  TL_SELECT(uniform_doubles)(words, n, from, to, out);
}

// Rounding to 16 bits may reach the excluded end once more.
template <class T>
void fill_uniform_half(T* out, int64_t n, float from, float to, Generator& g) {
  const T first = from, end = to;
  const auto is_end = [end](T x) { return x.bits == end.bits || ((x.bits | end.bits) & 0x7fff) == 0; };
  in_chunks<float>(dtype_of<T>, out, n,
                   [&](float* values, int64_t count) { draw_uniform(values, count, from, to, g); });
  for (int64_t i = 0; i < n; ++i)
    if (is_end(out[i])) out[i] = first;
}

// map(u) with u from [0, 1), in double.
template <class Map>
void map_uniform(DType dtype, void* out, int64_t n, Generator& g, Map map) {
  in_chunks<double>(dtype, out, n, [&](double* values, int64_t count) {
    draw_uniform(values, count, 0, 1, g);
    for (int64_t i = 0; i < count; ++i) values[i] = map(values[i]);
  });
}

// ---- normal -----------------------------------------------------------------------------------------------

constexpr int64_t kBlock = 16;  // eight pairs: the cosines stand before the sines

void to_normal(float* values, int64_t n, double mean, double std) {
  TL_SELECT(normal_floats)(values, n, static_cast<float>(mean), static_cast<float>(std));
}
void to_normal(double* values, int64_t n, double mean, double std) {
  for (; n > 0; n -= kBlock, values += kBlock) {
    for (int j = 0; j < 8; ++j) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - values[j])),
                   theta = 2.0 * std::numbers::pi * values[j + 8];
      values[j] = std::fma(radius * std::cos(theta), std, mean);
      values[j + 8] = std::fma(radius * std::sin(theta), std, mean);
    }
  }
}

template <class Value>
void normal_blocks(DType dtype, void* out, int64_t n, double mean, double std, Generator& g) {
  in_chunks<Value>(dtype, out, n, [&](Value* values, int64_t count) {
    draw_uniform(values, count, 0, 1, g);
    to_normal(values, count, mean, std);
  });
}

// The last block is drawn anew. Where the elements are what is drawn, it was first filled with uniform
// numbers, like the rest.
template <class Value>
void fill_normal_as(DType dtype, void* out, int64_t n, double mean, double std, Generator& g) {
  const int64_t rest = n % kBlock;
  normal_blocks<Value>(dtype, out, n - rest, mean, std, g);
  if (rest == 0) return;
  constexpr int64_t kWords = sizeof(Value) / sizeof(uint32_t);
  if (dtype == dtype_of<Value>) g.engine().skip(rest * kWords);
  normal_blocks<Value>(dtype, static_cast<char*>(out) + (n - kBlock) * item_size(dtype), kBlock, mean, std,
                       g);
}

// ---- integers ---------------------------------------------------------------------------------------------

// word % range without a division: Lemire, Kaser and Kurz, "Faster remainder by direct computation" (2019).
class Remainder {
 public:
  explicit Remainder(uint32_t range)
      : range_(range), inverse_(std::numeric_limits<uint64_t>::max() / range + 1) {}
  uint32_t operator()(uint32_t word) const {
    return static_cast<uint32_t>(static_cast<unsigned __int128>(inverse_ * word) * range_ >> 64);
  }

 private:
  uint64_t range_, inverse_;
};

template <class Map>
void map_words(DType dtype, void* out, int64_t n, Generator& g, Map map) {
  in_chunks<int64_t>(dtype, out, n, [&](int64_t* values, int64_t count) {
    uint32_t words[kChunk];
    g.engine().fill(words, count);
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<int64_t>(map(words[i]));
  });
}
template <class Map>
void map_pairs(DType dtype, void* out, int64_t n, Generator& g, Map map) {
  in_chunks<int64_t>(dtype, out, n, [&](int64_t* values, int64_t count) {
    uint32_t words[2 * kChunk];
    g.engine().fill(words, 2 * count);
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t high = words[2 * i];
      values[i] = static_cast<int64_t>(map(high << 32 | words[2 * i + 1]));
    }
  });
}

// One more than the largest integer up to which all are representable; for integers, than the largest.
uint64_t integers_in(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 2;
    case DType::Float16:
      return (1u << 11) + 1;
    case DType::BFloat16:
      return (1u << 8) + 1;
    case DType::Float32:
      return (1u << 24) + 1;
    case DType::Float64:
      return (uint64_t{1} << 53) + 1;
    case DType::UInt8:
      return 1u << 8;
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
      return uint64_t{1} << (8 * item_size(dtype) - 1);
    default:
      __builtin_unreachable();  // operators refuse other dtypes
  }
}

template <class T>
void permute_few(T* out, int64_t n, Generator& g) {
  for (int64_t i = 0; i < n; ++i) out[i] = converted<T>(i);
  for (int64_t i = 0; i < n - 1; ++i) {
    if (i % kChunk == 0) check_interrupt();
    std::swap(out[i], out[i + g.random() % static_cast<uint32_t>(n - i)]);
  }
}

// From the inside out: each number takes the place of an earlier one, which moves to the end.
template <class T>
void permute_many(T* out, int64_t n, Generator& g) {
  for (int64_t i = 0; i < n; ++i) {
    if (i % kChunk == 0) check_interrupt();
    const auto other = static_cast<int64_t>(g.random64() % static_cast<uint64_t>(i + 1));
    out[i] = out[other];
    out[other] = converted<T>(i);
  }
}

// Few enough elements are content with 32 bits: the remainder's bias stays below a twentieth.
template <class T>
void permute(T* out, int64_t n, Generator& g) {
  if (n < std::numeric_limits<uint32_t>::max() / 20)
    permute_few(out, n, g);
  else
    permute_many(out, n, g);
}

// ---- bernoulli --------------------------------------------------------------------------------------------

template <class P>
void fill_bernoulli_each(DType dtype, void* out, int64_t n, const P* p, Generator& g) {
  in_chunks<uint8_t>(dtype, out, n, [&](uint8_t* values, int64_t count) {
    P u[kChunk];
    draw_uniform(u, count, 0, 1, g);
    for (int64_t i = 0; i < count; ++i) values[i] = u[i] < p[i];
    p += count;
  });
}

template <class T>
void scale_masked_as(const T* x, const uint8_t* mask, int64_t n, T scale, T* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * static_cast<T>(mask[i] != 0) * scale;
}

}  // namespace

void fill_uniform(DType dtype, void* out, int64_t n, double from, double to, Generator& g) {
  const auto low = static_cast<float>(from), high = static_cast<float>(to);
  switch (dtype) {
    case DType::Float16:
      return fill_uniform_half(static_cast<Half*>(out), n, low, high, g);
    case DType::BFloat16:
      return fill_uniform_half(static_cast<BFloat16*>(out), n, low, high, g);
    case DType::Float32:
      return in_chunks<float>(
          dtype, out, n, [&](float* values, int64_t count) { draw_uniform(values, count, low, high, g); });
    default:
      return in_chunks<double>(
          dtype, out, n, [&](double* values, int64_t count) { draw_uniform(values, count, from, to, g); });
  }
}

void fill_normal(DType dtype, void* out, int64_t n, double mean, double std, Generator& g) {
  if (n < kBlock)
    fill_normal_in_turn(dtype, out, n, mean, std, g);
  else if (dtype == DType::Float64)
    fill_normal_as<double>(dtype, out, n, mean, std, g);
  else
    fill_normal_as<float>(dtype, out, n, mean, std, g);
}

void fill_normal_in_turn(DType dtype, void* out, int64_t n, double mean, double std, Generator& g) {
  one_by_one(dtype, out, n, [&] { return std::fma(draw_normal_double(g), std, mean); });
}

void fill_log_normal(DType dtype, void* out, int64_t n, double mean, double std, Generator& g) {
  one_by_one(dtype, out, n, [&] { return std::exp(std::fma(draw_normal_double(g), std, mean)); });
}

void fill_exponential(DType dtype, void* out, int64_t n, double rate, Generator& g) {
  map_uniform(dtype, out, n, g, [scale = -1.0 / rate](double u) { return scale * std::log1p(-u); });
}

void fill_cauchy(DType dtype, void* out, int64_t n, double median, double sigma, Generator& g) {
  map_uniform(dtype, out, n, g,
              [=](double u) { return std::fma(sigma, std::tan(std::numbers::pi * (u - 0.5)), median); });
}

void fill_geometric(DType dtype, void* out, int64_t n, double p, Generator& g) {
  map_uniform(dtype, out, n, g,
              [failure = std::log1p(-p)](double u) { return std::ceil(std::log(u) / failure); });
}

void fill_bernoulli(DType dtype, void* out, int64_t n, double p, Generator& g) {
  const auto bound = static_cast<uint64_t>(std::ceil(p * 0x1p53));
  in_chunks<uint8_t>(dtype, out, n, [&](uint8_t* values, int64_t count) {
    uint32_t words[2 * kChunk];
    g.engine().fill(words, 2 * count);
    TL_SELECT(words_below)(words, count, bound, values);
  });
}
void fill_bernoulli(DType dtype, void* out, int64_t n, const float* p, Generator& g) {
  fill_bernoulli_each(dtype, out, n, p, g);
}
void fill_bernoulli(DType dtype, void* out, int64_t n, const double* p, Generator& g) {
  fill_bernoulli_each(dtype, out, n, p, g);
}

void fill_integers(DType dtype, void* out, int64_t n, uint64_t range, int64_t base, Generator& g) {
  constexpr uint64_t kWordRange = uint64_t{1}
                                  << 28;  // from here on the remainder of one word would be too uneven
  const auto offset = static_cast<uint64_t>(base);
  if (range == 0)
    map_pairs(dtype, out, n, g, [=](uint64_t bits) { return offset + bits; });
  else if (range >= kWordRange)
    map_pairs(dtype, out, n, g, [=](uint64_t bits) { return offset + bits % range; });
  else
    map_words(dtype, out, n, g, [=, rest = Remainder(static_cast<uint32_t>(range))](uint32_t word) {
      return offset + rest(word);
    });
}

void fill_all_integers(DType dtype, void* out, int64_t n, Generator& g) {
  const uint64_t range = integers_in(dtype);
  if (dtype == DType::Int64)
    map_pairs(dtype, out, n, g, [](uint64_t bits) { return bits & std::numeric_limits<int64_t>::max(); });
  else if (dtype == DType::Float64)
    map_pairs(dtype, out, n, g, [](uint64_t bits) { return bits % ((uint64_t{1} << 53) + 1); });
  else
    map_words(dtype, out, n, g,
              [rest = Remainder(static_cast<uint32_t>(range))](uint32_t word) { return rest(word); });
}

void fill_permutation(DType dtype, void* out, int64_t n, Generator& g) {
  switch (dtype) {
#define TL_PERMUTE(E, T) \
  case DType::E:         \
    return permute(static_cast<T*>(out), n, g);
    TL_PERMUTE(UInt8, uint8_t)
    TL_PERMUTE(Int8, int8_t)
    TL_PERMUTE(Int16, int16_t)
    TL_PERMUTE(Int32, int32_t)
    TL_PERMUTE(Int64, int64_t)
    TL_PERMUTE(Float16, Half)
    TL_PERMUTE(BFloat16, BFloat16)
    TL_PERMUTE(Float32, float)
    TL_PERMUTE(Float64, double)
#undef TL_PERMUTE
    default:
      __builtin_unreachable();  // operators refuse other dtypes
  }
}

void scale_masked(DType dtype, const void* x, const uint8_t* mask, int64_t n, double scale, void* out) {
  if (dtype == DType::Float64)
    return scale_masked_as(static_cast<const double*>(x), mask, n, scale, static_cast<double*>(out));
  scale_masked_as(static_cast<const float*>(x), mask, n, static_cast<float>(scale), static_cast<float*>(out));
}

}  // namespace tl::cpu

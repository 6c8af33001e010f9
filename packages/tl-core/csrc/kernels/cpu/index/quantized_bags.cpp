// isa: all
// Rows are decoded in registers. Numbers whose bits lie at the same place of their bytes share a vector, and
// go to their columns once a bag.
#include "kernels/cpu/index/quantized_bags.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "base/parallel.h"
#include "kernels/cpu/simd/bytes.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

struct RowScale {
  float scale, bias;
};

template <class T>
RowScale row_scale(const uint8_t* tail) {
  T scale, bias;
  std::memcpy(&scale, tail, sizeof scale);
  std::memcpy(&bias, tail + sizeof scale, sizeof bias);
  return {static_cast<float>(scale), static_cast<float>(bias)};
}

template <int bits>
class QuantizedBagLoop {
 public:
  QuantizedBagLoop(const QuantizedRows& table, const QuantizedBags& bags, float* out)
      : table_(table), bags_(bags), out_(out) {}

  void bag(int64_t b) const {
    const int64_t at = strips<kMost>(b, 0);
    if (at < table_.bytes) strip<1>(b, at, static_cast<int>(table_.bytes - at));
  }

 private:
  using Scale = std::conditional_t<bits == 8, float, Half>;
  static constexpr int kPer = 8 / bits;  // numbers of a byte
  static constexpr int kMost =
      (TL_ISA_LEVEL >= 4 ? 16 : 8) / kPer;  // vectors of bytes whose sums registers hold
  static constexpr int64_t kAhead = 8;      // prefetch distance in rows

  // Strips of at most `vectors` whole vectors from `at` on; the first byte after them.
  template <int vectors>
  TL_INLINE int64_t strips(int64_t b, int64_t at) const {
    for (; at + vectors * kLanesI <= table_.bytes; at += vectors * kLanesI) strip<vectors>(b, at, kLanesI);
    if constexpr (vectors > 1) return strips<vectors / 2>(b, at);
    return at;
  }

  // Bytes from `at` on; `lanes` of the last vector.
  template <int vectors>
  void strip(int64_t b, int64_t at, int lanes) const {
    const int64_t first = bags_.offsets[b], last = bags_.offsets[b + 1], end = bags_.offsets[bags_.count];
    const int64_t *const indices = bags_.indices, bytes = table_.bytes, stride = table_.stride;
    const float* const factors = bags_.factors;
    const uint8_t* const data = table_.data;
    VecF sums[vectors][kPer] = {};
    int64_t rows = 0;
    for (int64_t i = first; i < last; ++i) {
      if (i + kAhead < end && indices[i + kAhead] > 0)
        prefetch(data + indices[i + kAhead] * stride + at, vectors * kLanesI);
      if (indices[i] < 0) continue;
      ++rows;
      const uint8_t* const row = data + indices[i] * stride;
      RowScale part = row_scale<Scale>(row + bytes);
      if (factors) part.scale *= factors[i], part.bias *= factors[i];
      add<vectors>(sums, row + at, lanes, part);
    }
    float* const to = out_ + (b * bytes + at) * kPer;
    const bool divide = bags_.mean && rows > 1;
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      if (divide)
        for (VecF& sum : sums[v]) sum /= static_cast<float>(rows);
      put(sums[v], to + v * kLanesI * kPer, lanes);
    }
  }

  TL_INLINE static void put(const VecF (&sums)[kPer], float* to, int lanes) {
    if (kPer == 1 && lanes == kLanesI) {
      write(reinterpret_cast<char*>(to), sums[0]);
      return;
    }
    float columns[kPer][kLanesI];
    for (int p = 0; p < kPer; ++p) write(reinterpret_cast<char*>(columns[p]), sums[p]);
    for (int l = 0; l < lanes; ++l)
      for (int p = 0; p < kPer; ++p) to[l * kPer + p] = columns[p][l];
  }

  template <int vectors>
  TL_INLINE static void add(VecF (&sums)[vectors][kPer], const uint8_t* from, int lanes, RowScale part) {
    const VecF scale = broadcast<VecF>(part.scale), bias = broadcast<VecF>(part.bias);
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      VecI word = load(from + v * kLanesI, lanes);
#pragma GCC unroll 4
      for (int p = 0; p < kPer; ++p, word >>= bits) {
        const VecI integers = p + 1 < kPer ? word & ((1 << bits) - 1) : word;
        sums[v][p] = exact_fma(__builtin_convertvector(integers, VecF), scale, sums[v][p] + bias);
      }
    }
  }

  TL_INLINE static VecI load(const uint8_t* from, int lanes) {
    if (lanes == kLanesI) return read_bytes(from, false);
    uint8_t buffer[kLanesI] = {};  // a row ends after its scale and bias
    std::copy_n(from, lanes, buffer);
    return read_bytes(buffer, false);
  }

  const QuantizedRows table_;
  const QuantizedBags bags_;
  float* out_;
};

template <int bits>
void sum_bags(const QuantizedRows& table, const QuantizedBags& bags, float* out) {
  if (bags.count == 0) return;
  const QuantizedBagLoop<bits> loop(table, bags, out);
  const int64_t cost = table.bytes * (bags.offsets[bags.count] / bags.count + 1);
  parallel_for(0, bags.count, (1 << 15) / (cost + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) loop.bag(b);
  });
}

}  // namespace

void sum_quantized_bags(const QuantizedRows& table, const QuantizedBags& bags, float* out) {
  if (table.bits == 8)
    sum_bags<8>(table, bags, out);
  else if (table.bits == 4)
    sum_bags<4>(table, bags, out);
  else
    sum_bags<2>(table, bags, out);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(void sum_quantized_bags(const QuantizedRows& table, const QuantizedBags& bags, float* out))

namespace tl::cpu {

void sum_quantized_bags(const QuantizedRows& table, const QuantizedBags& bags, float* out) {
  TL_SELECT(sum_quantized_bags)(table, bags, out);
}

}  // namespace tl::cpu
#endif

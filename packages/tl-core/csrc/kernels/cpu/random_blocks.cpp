// isa: all
#include <algorithm>

#include "kernels/cpu/memory.h"
#include "kernels/cpu/vec_math.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

void uniform_floats(const uint32_t* words, int64_t n, float from, float to, float* out) {
  const float range = to - from;
  for (int64_t i = 0; i < n; ++i) {
    const float x =
        fma(static_cast<float>(static_cast<int32_t>(words[i] & 0xffffffu)) * 0x1p-24f, range, from);
    out[i] = x == to ? from : x;
  }
}

// The high word comes first. Its 21 bits and the 32 below them are exact in double, and so is their sum.
void uniform_doubles(const uint32_t* words, int64_t n, double from, double to, double* out) {
  const double range = to - from;
  for (int64_t i = 0; i < n; ++i) {
    const double high = static_cast<double>(static_cast<int32_t>(words[2 * i] & 0x1fffffu)) * 0x1p-21;
    const double low =
        (static_cast<double>(static_cast<int32_t>(words[2 * i + 1] ^ 0x80000000u)) + 0x1p31) * 0x1p-53;
    const double x = fma(high + low, range, from);
    out[i] = x == to ? from : x;
  }
}

void words_below(const uint32_t* words, int64_t n, uint64_t bound, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = static_cast<uint64_t>(words[2 * i] & 0x1fffffu) << 32 | words[2 * i + 1];
    out[i] = bits < bound;
  }
}

// The transform of Box and Muller (1958). One minus a number in [0, 1) has a logarithm.
static void box_muller(const float* u1, const float* u2, int64_t n, float mean, float std, float* cosines,
                       float* sines) {
  for (int64_t i = 0; i < n; i += kLanes<float>) {
    const VecF first = read<VecF>(reinterpret_cast<const char*>(u1 + i));
    const VecF theta = read<VecF>(reinterpret_cast<const char*>(u2 + i)) * 6.2831855f;
    const VecF radius = sqrt(-2.0f * log(1.0f - first));
    write(reinterpret_cast<char*>(cosines + i),
          fma(radius * cos(theta), broadcast<VecF>(std), broadcast<VecF>(mean)));
    write(reinterpret_cast<char*>(sines + i),
          fma(radius * sin(theta), broadcast<VecF>(std), broadcast<VecF>(mean)));
  }
}

void normal_floats(float* values, int64_t n, float mean, float std) {
  constexpr int64_t kPairs = 128;
  alignas(kVecBytes) float u1[kPairs] = {}, u2[kPairs] = {};
  for (int64_t begin = 0; begin < n; begin += 2 * kPairs) {
    const int64_t pairs = std::min(kPairs, (n - begin) / 2);
    float* block = values + begin;
    for (int64_t i = 0; i < pairs; i += 8) {
      std::copy_n(block + 2 * i, 8, u1 + i);
      std::copy_n(block + 2 * i + 8, 8, u2 + i);
    }
    box_muller(u1, u2, pairs, mean, std, u1, u2);
    for (int64_t i = 0; i < pairs; i += 8) {
      std::copy_n(u1 + i, 8, block + 2 * i);
      std::copy_n(u2 + i, 8, block + 2 * i + 8);
    }
  }
}

template <class T>
static TL_INLINE void round_to(const float* values, int64_t n, T* out) {
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>)
    store<T>(reinterpret_cast<char*>(out + i), read<VecF>(reinterpret_cast<const char*>(values + i)));
  if (i < n)
    store_partial<T>(reinterpret_cast<char*>(out + i), static_cast<int>(n - i),
                     load_partial<float>(reinterpret_cast<const char*>(values + i), static_cast<int>(n - i)));
}
void round_to_half(const float* values, int64_t n, Half* out) { round_to(values, n, out); }
void round_to_bfloat16(const float* values, int64_t n, BFloat16* out) { round_to(values, n, out); }

}  // namespace tl::cpu::TL_ISA_NAMESPACE

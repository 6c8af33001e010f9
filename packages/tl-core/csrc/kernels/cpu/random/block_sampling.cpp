// isa: all
// Sampling in blocks: uniform floats from 24 or 53 bits, Box-Muller with polynomial sine and cosine.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/simd/load_store.h"
#include "kernels/cpu/simd/vec_math.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// std::fma rounds once at every level, so that uniform numbers are the same at all of them.
void uniform_floats(const uint32_t* words, int64_t n, float from, float to, float* out) {
  const float range = to - from;
  for (int64_t i = 0; i < n; ++i) {
    const float x =
        std::fma(static_cast<float>(static_cast<int32_t>(words[i] & 0xffffffu)) * 0x1p-24f, range, from);
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
    const double x = std::fma(high + low, range, from);
    out[i] = x == to ? from : x;
  }
}

void words_below(const uint32_t* words, int64_t n, uint64_t bound, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = static_cast<uint64_t>(words[2 * i] & 0x1fffffu) << 32 | words[2 * i + 1];
    out[i] = bits < bound;
  }
}

// For angles from 0 to 2 pi.
TL_INLINE static void sine_and_cosine(VecF angle, VecF& sine, VecF& cosine) {
  const VecF quarters = round_even(angle * 0x1.45f306p-1f);
  VecF r = fma(quarters, VecF{} - 0x1.92p0f,
               angle);  // pi/2 in three parts, the first two with room for the quarters
  r = fma(quarters, VecF{} - 0x1.fb4p-12f, r);
  r = fma(quarters, VecF{} - 0x1.4442d2p-24f, r);
  const VecF z = r * r;
  const VecF s = fma(r * z, polynomial(z, -0x1.994222p-13f, 0x1.110736p-7f, -0x1.555546p-3f), r);
  const VecF c = fma(z * z, polynomial(z, 0x1.99ea02p-16f, -0x1.6c0c2ep-10f, 0x1.55554ap-5f),
                     fma(z, VecF{} - 0.5f, VecF{} + 1.0f));
  const VecI quarter = __builtin_convertvector(quarters, VecI);
  const auto odd = (quarter & 1) != 0;
  const VecI sine_sign = (quarter & 2) << 30, cosine_sign = ((quarter + 1) & 2) << 30;
  sine = bitcast<VecF>(bitcast<VecI>(select<VecF>(odd, c, s)) ^ sine_sign);
  cosine = bitcast<VecF>(bitcast<VecI>(select<VecF>(odd, s, c)) ^ cosine_sign);
}

// The transform of Box and Muller (1958). One minus a number in [0, 1) has a logarithm.
static void box_muller(const float* u1, const float* u2, int64_t n, float mean, float std, float* cosines,
                       float* sines) {
  for (int64_t i = 0; i < n; i += kLanes<float>) {
    const VecF first = read<VecF>(reinterpret_cast<const char*>(u1 + i));
    const VecF theta = read<VecF>(reinterpret_cast<const char*>(u2 + i)) * 6.2831855f;
    const VecF radius = sqrt(-2.0f * log(1.0f - first));
    VecF sine, cosine;
    sine_and_cosine(theta, sine, cosine);
    write(reinterpret_cast<char*>(cosines + i),
          fma(radius * cosine, broadcast<VecF>(std), broadcast<VecF>(mean)));
    write(reinterpret_cast<char*>(sines + i),
          fma(radius * sine, broadcast<VecF>(std), broadcast<VecF>(mean)));
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

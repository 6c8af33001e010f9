// Between floats and bytes, with the same results on every level.
#pragma once

#include <cmath>

#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kLanesI = kLanes<int32_t>;
using Bytes = Pack<uint8_t, kLanesI>;
using SignedBytes = Pack<int8_t, kLanesI>;

template <class V, class T>
TL_INLINE V vector_at(const T* p) {
  return read<V>(reinterpret_cast<const char*>(p));
}

// fma that is exact where the processor lacks it, too.
TL_INLINE VecF exact_fma(VecF x, VecF y, VecF z) {
#if TL_ISA_LEVEL >= 3
  return fma(x, y, z);
#else
  VecF out;
  for (int i = 0; i < kLanesI; ++i) out[i] = std::fma(x[i], y[i], z[i]);
  return out;
#endif
}

// Rounded and clamped. NaN becomes `high`.
TL_INLINE VecI rounded(VecF x, VecF low, VecF high) {
#if TL_ISA_LEVEL >= 4  // the instructions return their second operand for NaN
  return bitcast<VecI>(_mm512_cvtps_epi32(_mm512_max_ps(_mm512_min_ps(x, high), low)));
#elif TL_ISA_LEVEL >= 3
  return bitcast<VecI>(_mm256_cvtps_epi32(_mm256_max_ps(_mm256_min_ps(x, high), low)));
#else
  const VecF below = select<VecF>(x < high, x, high);
  return __builtin_convertvector(round_even(select<VecF>(below > low, below, low)), VecI);
#endif
}

// Integers of 8 bits as bytes.
TL_INLINE void write_bytes(char* to, VecI x) {
#if TL_ISA_LEVEL >= 4
  write(to, _mm512_cvtepi32_epi8(bitcast<__m512i>(x)));
#elif TL_ISA_LEVEL >= 3
  const __m256i first = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8,
                                         12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i quads = _mm256_shuffle_epi8(bitcast<__m256i>(x), first);
  const __m256i joined = _mm256_permutevar8x32_epi32(quads, _mm256_setr_epi32(0, 4, 1, 1, 1, 1, 1, 1));
  write(to, _mm_cvtsi128_si64(_mm256_castsi256_si128(joined)));
#else
  for (int i = 0; i < kLanesI; ++i) to[i] = static_cast<char>(x[i]);
#endif
}

// Bytes of either sign as integers.
TL_INLINE VecI read_bytes(const uint8_t* p, bool is_signed) {
  const VecI x = wide(vector_at<Bytes>(p), VecI{});
  return is_signed ? (x ^ 128) - 128 : x;
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

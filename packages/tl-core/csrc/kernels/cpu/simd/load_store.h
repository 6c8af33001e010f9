// Between memory and vectors: elements of T become lanes of OpMath<T> and back. The partial and strided
// forms take the number of elements; the lanes above it hold zeros. Bool elements are masks as wide as the
// lanes they accompany.
#pragma once

#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T, int n>
using Pack = typename VecOf<T, n* static_cast<int>(sizeof(T))>::type;

template <class V>
TL_INLINE V read(const char* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
TL_INLINE void write(char* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// Calls for `bytes` bytes that will be read, or written, line by line.
template <bool to_write = false>
TL_INLINE void prefetch(const void* from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(static_cast<const char*>(from) + i, to_write);
}

// Unsigned items as wide lanes. The compiler's own conversion takes such vectors apart.
#if TL_ISA_LEVEL >= 4
TL_INLINE VecI wide(Pack<uint16_t, 16> x, VecI) {
  return bitcast<VecI>(_mm512_cvtepu16_epi32(bitcast<__m256i>(x)));
}
TL_INLINE VecI wide(Pack<uint8_t, 16> x, VecI) {
  return bitcast<VecI>(_mm512_cvtepu8_epi32(bitcast<__m128i>(x)));
}
TL_INLINE VecL wide(Pack<uint8_t, 8> x, VecL) {
  return bitcast<VecL>(_mm512_cvtepu8_epi64(_mm_cvtsi64_si128(bitcast<int64_t>(x))));
}
#elif TL_ISA_LEVEL >= 3
TL_INLINE VecI wide(Pack<uint16_t, 8> x, VecI) {
  return bitcast<VecI>(_mm256_cvtepu16_epi32(bitcast<__m128i>(x)));
}
TL_INLINE VecI wide(Pack<uint8_t, 8> x, VecI) {
  return bitcast<VecI>(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bitcast<int64_t>(x))));
}
TL_INLINE VecL wide(Pack<uint8_t, 4> x, VecL) {
  return bitcast<VecL>(_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(bitcast<int32_t>(x))));
}
#else
template <class From, class To>
TL_INLINE To wide(From x, To) {
  return __builtin_convertvector(x, To);
}
#endif

// ---- 16-bit formats ---------------------------------------------------------------------------------------
using Bits16 = Pack<uint16_t, kLanes<float>>;

TL_INLINE VecF widen(Bits16 x, Half) {
#if TL_ISA_LEVEL >= 4
  return _mm512_cvtph_ps(bitcast<__m256i>(x));
#elif TL_ISA_LEVEL >= 3
  return _mm256_cvtph_ps(bitcast<__m128i>(x));
#else
  // Shifting aligns mantissa and exponent; a multiplication then corrects the exponent's bias, denormals
  // included.
  using U = Pack<uint32_t, kLanes<float>>;
  const U wide = __builtin_convertvector(x, U);
  const VecF scaled = bitcast<VecF>((wide & 0x7fffu) << 13) * 0x1p112f;
  const U special = (wide & 0x7c00u) == 0x7c00u ? U{} + 0x7f800000u : U{};
  return bitcast<VecF>(bitcast<U>(scaled) | special | ((wide & 0x8000u) << 16));
#endif
}
TL_INLINE VecF widen(Bits16 x, BFloat16) { return bitcast<VecF>(wide(x, VecI{}) << 16); }
TL_INLINE Bits16 narrow(VecF x, Half) {
#if TL_ISA_LEVEL >= 4
  return bitcast<Bits16>(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif TL_ISA_LEVEL >= 3
  return bitcast<Bits16>(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  Bits16 out;
  for (int i = 0; i < kLanes<float>; ++i) out[i] = Half(x[i]).bits;
  return out;
#endif
}
TL_INLINE Bits16 narrow(VecF x, BFloat16) {
#if TL_ISA_LEVEL >= 4
  const __m512i bits = bitcast<__m512i>(x), one = _mm512_set1_epi32(1);
  const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
  const __m512i up = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_mask_add_epi32(up, odd, up, one);
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i result = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
  const Pack<uint16_t, 32> upper{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  return bitcast<Bits16>(_mm512_castsi512_si256(_mm512_permutexvar_epi16(bitcast<__m512i>(upper), result)));
#else
  using U = Pack<uint32_t, kLanes<float>>;
  const U bits = bitcast<U>(x);
  const U rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const U nan = (bits >> 16) | 0x40u;
  return __builtin_convertvector((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded, Bits16);
#endif
}

// ---- whole vectors ----------------------------------------------------------------------------------------
template <class T>
inline constexpr bool kIs16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// `Like` is the compute type of the loop: it decides how many bools make a mask.
template <class T, class Like = OpMath<T>>
TL_INLINE auto load(const char* p) {
  if constexpr (kIs16<T>) {
    return widen(read<Bits16>(p), T{});
  } else if constexpr (std::is_same_v<T, bool>) {
    return wide(read<Pack<uint8_t, kLanes<Like>>>(p), Mask<Vec<Like>>{}) != 0;
  } else {
    return read<Vec<T>>(p);
  }
}

// A byte, 0 or 1, for each lane of a mask.
template <class M>
TL_INLINE void write_flags(char* p, M mask) {
#if TL_ISA_LEVEL == 3
  if constexpr (sizeof(Lane<M>) == 4)
    write(p, _pdep_u64(static_cast<uint32_t>(_mm256_movemask_ps(bitcast<__m256>(mask))), 0x0101010101010101));
  else
    write(p, _pdep_u32(static_cast<uint32_t>(_mm256_movemask_pd(bitcast<__m256d>(mask))), 0x01010101));
#else
  write(p, __builtin_convertvector(mask & 1, Pack<uint8_t, kLanes<Lane<M>>>));
#endif
}

template <class T, class V>
TL_INLINE void store(char* p, V v) {
  if constexpr (kIs16<T>) {
    write(p, narrow(v, T{}));
  } else if constexpr (std::is_same_v<T, bool>) {
    write_flags(p, v);
  } else {
    write(p, v);
  }
}

// ---- parts of a vector ------------------------------------------------------------------------------------
// Every second element of n: both halves of a pair are read at once, but for the last one.
#if TL_ISA_LEVEL >= 4
template <class T>
TL_INLINE auto load_even(const char* p, int n) {
  const uint64_t pairs = (uint64_t{1} << (2 * n - 1)) - 1;
  if constexpr (kIs16<T>) {
    const __m512i x = _mm512_maskz_loadu_epi16(static_cast<__mmask32>(pairs), p);
    return widen(bitcast<Bits16>(_mm512_cvtepi32_epi16(x)), T{});
  } else if constexpr (sizeof(T) == 4) {
    const __m512i low = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(pairs), p);
    const __m512i high = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(pairs >> 16), p + 64);
    return bitcast<Vec<T>>(_mm512_permutex2var_epi32(low, bitcast<__m512i>(iota<VecI>() * 2), high));
  } else {
    const __m512i low = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(pairs), p);
    const __m512i high = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(pairs >> 8), p + 64);
    return bitcast<Vec<T>>(_mm512_permutex2var_epi64(low, bitcast<__m512i>(iota<VecL>() * int64_t{2}), high));
  }
}
#endif

template <class T, class Like = OpMath<T>>
TL_INLINE auto load_strided(const char* p, int64_t stride, int n) {
#if TL_ISA_LEVEL >= 4
  if constexpr (sizeof(T) > 1) {
    if (stride == 2 * static_cast<int64_t>(sizeof(T))) return load_even<T>(p, n);
  }
#endif
  alignas(kVecBytes) char lanes[kLanes<Like> * sizeof(T)] = {};
  if (n == kLanes<Like>) {
    for (int i = 0; i < kLanes<Like>; ++i) __builtin_memcpy(lanes + i * sizeof(T), p + i * stride, sizeof(T));
  } else {
    for (int i = 0; i < n; ++i) __builtin_memcpy(lanes + i * sizeof(T), p + i * stride, sizeof(T));
  }
  return load<T, Like>(lanes);
}

template <class T, class V>
TL_INLINE void store_strided(char* p, int64_t stride, int n, V v) {
  alignas(kVecBytes) char lanes[sizeof(V) / sizeof(Lane<V>) * sizeof(T)];
  store<T>(lanes, v);
  for (int i = 0; i < n; ++i) __builtin_memcpy(p + i * stride, lanes + i * sizeof(T), sizeof(T));
}

#if TL_ISA_LEVEL >= 3 && TL_ISA_LEVEL < 4
TL_INLINE __m256i first_lanes32(int n) { return reinterpret_cast<__m256i>(iota<VecI>() < n); }
TL_INLINE __m256i first_lanes64(int n) {
  return reinterpret_cast<__m256i>(iota<VecL>() < static_cast<int64_t>(n));
}
#endif

// 0 <= n <= lanes.
template <class T, class Like = OpMath<T>>
TL_INLINE auto load_partial(const char* p, int n) {
#if TL_ISA_LEVEL >= 4
  const uint32_t lanes = (1u << n) - 1;
  if constexpr (kIs16<T>)
    return widen(bitcast<Bits16>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(lanes), p)), T{});
  else if constexpr (std::is_same_v<T, bool>) {
    const __m128i bytes = _mm_maskz_loadu_epi8(static_cast<__mmask16>(lanes), p);
    Pack<uint8_t, kLanes<Like>> first;
    __builtin_memcpy(&first, &bytes, sizeof first);
    return wide(first, Mask<Vec<Like>>{}) != 0;
  } else if constexpr (sizeof(T) == 4)
    return bitcast<Vec<T>>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(lanes), p));
  else
    return bitcast<Vec<T>>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes), p));
#elif TL_ISA_LEVEL >= 3
  if constexpr (kIs16<T> || std::is_same_v<T, bool>)
    return load_strided<T, Like>(p, sizeof(T), n);
  else if constexpr (sizeof(T) == 4)
    return bitcast<Vec<T>>(_mm256_maskload_epi32(reinterpret_cast<const int*>(p), first_lanes32(n)));
  else
    return bitcast<Vec<T>>(_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), first_lanes64(n)));
#else
  return load_strided<T, Like>(p, sizeof(T), n);
#endif
}

template <class T, class V>
TL_INLINE void store_partial(char* p, int n, V v) {
#if TL_ISA_LEVEL >= 4
  const uint32_t lanes = (1u << n) - 1;
  if constexpr (kIs16<T>)
    _mm256_mask_storeu_epi16(p, static_cast<__mmask16>(lanes), bitcast<__m256i>(narrow(v, T{})));
  else if constexpr (std::is_same_v<T, bool>)
    store_strided<T>(p, 1, n, v);
  else if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(lanes), bitcast<__m512i>(v));
  else
    _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(lanes), bitcast<__m512i>(v));
#elif TL_ISA_LEVEL >= 3
  if constexpr (kIs16<T> || std::is_same_v<T, bool>)
    store_strided<T>(p, sizeof(T), n, v);
  else if constexpr (sizeof(T) == 4)
    _mm256_maskstore_epi32(reinterpret_cast<int*>(p), first_lanes32(n), bitcast<__m256i>(v));
  else
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(p), first_lanes64(n), bitcast<__m256i>(v));
#else
  store_strided<T>(p, sizeof(T), n, v);
#endif
}

// ---- single elements --------------------------------------------------------------------------------------
// A bool's byte may hold any value when its memory came from elsewhere: not zero means true.
template <class T>
TL_INLINE OpMath<T> load_one(const char* p) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const uint8_t*>(p) != 0;
  } else if constexpr (std::is_same_v<T, Complex32>) {
    const Complex32 x = read<Complex32>(p);
    return {static_cast<float>(x.re), static_cast<float>(x.im)};
  } else {
    return static_cast<OpMath<T>>(read<T>(p));
  }
}
template <class T>
TL_INLINE void store_one(char* p, OpMath<T> x) {
  if constexpr (std::is_same_v<T, Complex32>)
    write(p, Complex32{Half(x.re), Half(x.im)});
  else if constexpr (std::is_same_v<T, bool>)
    write<uint8_t>(p, x);
  else
    write<T>(p, static_cast<T>(x));
}

// Broadcasts the element at p: a value for scalars, all lanes for vectors.
template <class T, class Like = OpMath<T>>
TL_INLINE auto load_all(const char* p) {
  if constexpr (std::is_same_v<T, bool>) {
    using M = Mask<Vec<Like>>;
    return M{} - static_cast<Lane<M>>(load_one<bool>(p));
  } else {
    return broadcast<Vec<OpMath<T>>>(load_one<T>(p));
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// Vectors of float, double, int32 and int64 as wide as the level allows, on the compiler's vector types: + -
// * / and comparisons come from the language, a comparison gives a mask (0 or -1 in each lane of an integer
// vector).
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/dtype.h"
#include "kernels/cpu/simd/isa.h"

#if TL_ISA_LEVEL >= 3
#include <immintrin.h>
#endif

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T, int bytes>
struct VecOf {
  typedef T type __attribute__((vector_size(bytes)));
};
template <class T>
using Vec = typename VecOf<T, kVecBytes>::type;
template <class T>
inline constexpr int kLanes = kVecBytes / static_cast<int>(sizeof(T));

using VecF = Vec<float>;
using VecD = Vec<double>;
using VecI = Vec<int32_t>;
using VecL = Vec<int64_t>;

template <class T>
struct LaneOf {
  using type = T;
};
template <>
struct LaneOf<VecF> {
  using type = float;
};
template <>
struct LaneOf<VecD> {
  using type = double;
};
template <>
struct LaneOf<VecI> {
  using type = int32_t;
};
template <>
struct LaneOf<VecL> {
  using type = int64_t;
};
template <class V>
using Lane = typename LaneOf<V>::type;  // the element of a vector; a scalar is its own
template <class V>
inline constexpr bool is_vec = !std::is_same_v<Lane<V>, V>;

template <class T>
struct MaskOf {
  using type = bool;
};
template <>
struct MaskOf<VecF> {
  using type = VecI;
};
template <>
struct MaskOf<VecD> {
  using type = VecL;
};
template <>
struct MaskOf<VecI> {
  using type = VecI;
};
template <>
struct MaskOf<VecL> {
  using type = VecL;
};
template <class V>
using Mask = typename MaskOf<V>::type;

// Whether vectors of T are computed with.
template <class T>
inline constexpr bool has_float_lanes = std::is_same_v<T, float> || std::is_same_v<T, double>;

// The type in which values of T are computed.
template <class T>
struct OpMathOf {
  using type = T;
};
template <>
struct OpMathOf<Half> {
  using type = float;
};
template <>
struct OpMathOf<BFloat16> {
  using type = float;
};
template <>
struct OpMathOf<Complex32> {
  using type = Complex64;
};
template <int m, int b, uint8_t l, uint8_t o, bool z>
struct OpMathOf<Float8<m, b, l, o, z>> {
  using type = float;
};
template <>
struct OpMathOf<Float8_e8m0fnu> {
  using type = float;
};
template <class T>
using OpMath = typename OpMathOf<T>::type;

template <class V>
TL_INLINE V broadcast(Lane<V> x) {
  if constexpr (is_vec<V>)
    return x - V{};
  else
    return x;
}
// -0.0 - 0.0 is -0.0 and NaN payloads stay, so the subtraction above changes no value.

template <class V>
TL_INLINE V select(Mask<V> mask, V yes, V no) {
  return mask ? yes : no;
}

template <class To, class From>
TL_INLINE To bitcast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  __builtin_memcpy(&out, &x, sizeof out);
  return out;
}

template <class V>
TL_INLINE V iota() {
  V v;
  for (int i = 0; i < kLanes<Lane<V>>; ++i) v[i] = static_cast<Lane<V>>(i);
  return v;
}

// f on each lane, for what has no vector form.
template <class V, class F>
TL_INLINE V map(V x, F f) {
  if constexpr (is_vec<V>) {
    V out{};
    for (int i = 0; i < kLanes<Lane<V>>; ++i) out[i] = f(x[i]);
    return out;
  } else {
    return f(x);
  }
}

template <class V, class F>
TL_INLINE V map(V x, V y, F f) {
  if constexpr (is_vec<V>) {
    V out{};
    for (int i = 0; i < kLanes<Lane<V>>; ++i) out[i] = f(x[i], y[i]);
    return out;
  } else {
    return f(x, y);
  }
}

TL_INLINE bool any(bool mask) { return mask; }
TL_INLINE bool any(VecI mask) {
#if TL_ISA_LEVEL >= 4
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)) != 0;
#elif TL_ISA_LEVEL >= 3
  return _mm256_movemask_ps(reinterpret_cast<__m256>(mask)) != 0;
#else
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}
TL_INLINE bool any(VecL mask) { return any(reinterpret_cast<VecI>(mask)); }

// ---- arithmetic beyond the language's operators -----------------------------------------------------------

// Where the processor has no fused multiply-add the product is rounded: a call into the maths library would
// be far slower.
TL_INLINE float fma(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
TL_INLINE double fma(double a, double b, double c) {
#ifdef __FMA__
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
TL_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
TL_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
TL_INLINE float floor(float x) { return __builtin_floorf(x); }
TL_INLINE double floor(double x) { return __builtin_floor(x); }
TL_INLINE float ceil(float x) { return __builtin_ceilf(x); }
TL_INLINE double ceil(double x) { return __builtin_ceil(x); }
TL_INLINE float trunc(float x) { return __builtin_truncf(x); }
TL_INLINE double trunc(double x) { return __builtin_trunc(x); }
TL_INLINE float round_even(float x) { return __builtin_nearbyintf(x); }
TL_INLINE double round_even(double x) { return __builtin_nearbyint(x); }

#if TL_ISA_LEVEL >= 4
TL_INLINE VecF fma(VecF a, VecF b, VecF c) { return _mm512_fmadd_ps(a, b, c); }
TL_INLINE VecD fma(VecD a, VecD b, VecD c) { return _mm512_fmadd_pd(a, b, c); }
// Rounded correctly, as the instruction does in twice the time: an estimate's root and half its inverse are
// refined together. Where the products would leave the range, the instruction serves.
TL_INLINE VecF sqrt(VecF x) {
  const __mmask16 large = _mm512_cmp_ps_mask(x, VecF{} + 0x1p-100f, _CMP_GE_OQ);
  const __mmask16 usual = _mm512_mask_cmp_ps_mask(large, x, VecF{} + 0x1.fffffep127f, _CMP_LE_OQ);
  if (usual != 0xffff) [[unlikely]]
    return _mm512_sqrt_ps(x);
  const VecF inverse = _mm512_rsqrt14_ps(x), g = x * inverse, h = 0.5f * inverse;
  const VecF miss = fma(-h, g, VecF{} + 0.5f), root = fma(g, miss, g), half = fma(h, miss, h);
  return fma(fma(-root, root, x), half, root);
}
TL_INLINE VecD sqrt(VecD x) { return _mm512_sqrt_pd(x); }
#define TL_ROUNDING(name, mode)                                                               \
  TL_INLINE VecF name(VecF x) { return _mm512_roundscale_ps(x, (mode) | _MM_FROUND_NO_EXC); } \
  TL_INLINE VecD name(VecD x) { return _mm512_roundscale_pd(x, (mode) | _MM_FROUND_NO_EXC); }
#elif TL_ISA_LEVEL >= 3
TL_INLINE VecF fma(VecF a, VecF b, VecF c) { return _mm256_fmadd_ps(a, b, c); }
TL_INLINE VecD fma(VecD a, VecD b, VecD c) { return _mm256_fmadd_pd(a, b, c); }
TL_INLINE VecF sqrt(VecF x) { return _mm256_sqrt_ps(x); }
TL_INLINE VecD sqrt(VecD x) { return _mm256_sqrt_pd(x); }
#define TL_ROUNDING(name, mode)                                                          \
  TL_INLINE VecF name(VecF x) { return _mm256_round_ps(x, (mode) | _MM_FROUND_NO_EXC); } \
  TL_INLINE VecD name(VecD x) { return _mm256_round_pd(x, (mode) | _MM_FROUND_NO_EXC); }
#else
TL_INLINE VecF fma(VecF a, VecF b, VecF c) { return a * b + c; }
TL_INLINE VecD fma(VecD a, VecD b, VecD c) { return a * b + c; }
TL_INLINE VecF sqrt(VecF x) {
  return map(x, [](float v) { return __builtin_sqrtf(v); });
}
TL_INLINE VecD sqrt(VecD x) {
  return map(x, [](double v) { return __builtin_sqrt(v); });
}
#define TL_ROUNDING(name, mode)                      \
  TL_INLINE VecF name(VecF x) {                      \
    return map(x, [](float v) { return name(v); });  \
  }                                                  \
  TL_INLINE VecD name(VecD x) {                      \
    return map(x, [](double v) { return name(v); }); \
  }
#endif
TL_ROUNDING(floor, _MM_FROUND_TO_NEG_INF)
TL_ROUNDING(ceil, _MM_FROUND_TO_POS_INF)
TL_ROUNDING(trunc, _MM_FROUND_TO_ZERO)
TL_ROUNDING(round_even, _MM_FROUND_TO_NEAREST_INT)
#undef TL_ROUNDING

template <class V>
using BitsOf = std::conditional_t<is_vec<V>, Mask<V>, std::conditional_t<sizeof(V) == 4, int32_t, int64_t>>;
template <class V>
inline constexpr Lane<BitsOf<V>> kSignBit =
    static_cast<Lane<BitsOf<V>>>(sizeof(Lane<V>) == 4 ? 0x80000000u : 0x8000000000000000u);

// Of floating-point scalars and vectors.
template <class V>
TL_INLINE V abs(V x) {
  return bitcast<V>(bitcast<BitsOf<V>>(x) & ~kSignBit<V>);
}
template <class V>
TL_INLINE V copysign(V magnitude, V sign) {
  return bitcast<V>((bitcast<BitsOf<V>>(magnitude) & ~kSignBit<V>) |
                    (bitcast<BitsOf<V>>(sign) & kSignBit<V>));
}
template <class V>
TL_INLINE auto is_nan(V x) {
  return x != x;
}
// The larger and the smaller one, the first if they are equal; a NaN on either side wins.
template <class V>
TL_INLINE V maximum(V a, V b) {
#if TL_ISA_LEVEL >= 4  // the instructions give their second operand where there is nothing to choose
  if constexpr (std::is_same_v<V, VecF>) return select<V>(is_nan(b), b, _mm512_max_ps(b, a));
  if constexpr (std::is_same_v<V, VecD>) return select<V>(is_nan(b), b, _mm512_max_pd(b, a));
#endif
  return select<V>(is_nan(b), b, select<V>(a < b, b, a));
}
template <class V>
TL_INLINE V minimum(V a, V b) {
#if TL_ISA_LEVEL >= 4
  if constexpr (std::is_same_v<V, VecF>) return select<V>(is_nan(b), b, _mm512_min_ps(b, a));
  if constexpr (std::is_same_v<V, VecD>) return select<V>(is_nan(b), b, _mm512_min_pd(b, a));
#endif
  return select<V>(is_nan(b), b, select<V>(a > b, b, a));
}

// ---- float vectors as two halves of double ----------------------------------------------------------------
#if TL_ISA_LEVEL >= 4
TL_INLINE VecD low_double(VecF x) { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
TL_INLINE VecD high_double(VecF x) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)); }
TL_INLINE VecF join(VecD low, VecD high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}
#elif TL_ISA_LEVEL >= 3
TL_INLINE VecD low_double(VecF x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
TL_INLINE VecD high_double(VecF x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
TL_INLINE VecF join(VecD low, VecD high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
}
#else
TL_INLINE VecD low_double(VecF x) { return VecD{x[0], x[1]}; }
TL_INLINE VecD high_double(VecF x) { return VecD{x[2], x[3]}; }
TL_INLINE VecF join(VecD low, VecD high) {
  return VecF{static_cast<float>(low[0]), static_cast<float>(low[1]), static_cast<float>(high[0]),
              static_cast<float>(high[1])};
}
#endif

// f, which computes in double, on the lanes of a float vector.
template <class F>
TL_INLINE VecF in_double(VecF x, F f) {
  return join(f(low_double(x)), f(high_double(x)));
}
template <class F>
TL_INLINE VecF in_double(VecF x, VecF y, F f) {
  return join(f(low_double(x), low_double(y)), f(high_double(x), high_double(y)));
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

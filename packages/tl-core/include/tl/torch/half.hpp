// Half-precision numbers, as PyTorch's C++ spells them.
#ifndef TL_TORCH_HALF_HPP
#define TL_TORCH_HALF_HPP

#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <tl/torch/errors.hpp>

namespace c10 {
TL_FACE {
  namespace face {
  inline float float_of_bits(uint32_t bits) {
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
  }
  inline uint32_t bits_of_float(float f) {
    uint32_t bits;
    std::memcpy(&bits, &f, sizeof bits);
    return bits;
  }
  // The number of a float16. A subnormal number is its mantissa times 2^-24, which float32 represents
  // exactly.
  inline float float_of_half(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
    if (exponent == 31) return float_of_bits(sign | 0x7f800000 | (mantissa << 13));
    if (exponent != 0) return float_of_bits(sign | ((exponent + 112) << 23) | (mantissa << 13));
    const float magnitude = float(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  // Rounds to the nearest float16, ties to even. Adding 0.5 to a small number rounds it to multiples of
  // 2^-24.
  inline uint16_t half_of_float(float f) {
    const uint32_t bits = bits_of_float(f), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00);
    if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);
    if (magnitude < 0x38800000)
      return uint16_t(sign | (bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000));
    return uint16_t(sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13));
  }
  inline float float_of_bfloat16(uint16_t h) { return float_of_bits(uint32_t(h) << 16); }
  inline uint16_t bfloat16_of_float(float f) {
    const uint32_t bits = bits_of_float(f);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
    return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  }  // namespace face

// A number of 16 bits that computes in float32. Arithmetic with an integer stays in the type, with a float or
// a double it is theirs.
#define TL_FACE_HALF_MIXED(T, OP)                                                                \
  inline T operator OP(const T& a, const T& b) { return T(float(a) OP float(b)); }               \
  inline float operator OP(const T& a, float b) { return float(a) OP b; }                        \
  inline float operator OP(float a, const T& b) { return a OP float(b); }                        \
  inline double operator OP(const T& a, double b) { return double(float(a)) OP b; }              \
  inline double operator OP(double a, const T& b) { return a OP double(float(b)); }              \
  template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>                           \
  T operator OP(const T& a, I b) {                                                               \
    return T(float(a) OP float(b));                                                              \
  }                                                                                              \
  template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>                           \
  T operator OP(I a, const T& b) {                                                               \
    return T(float(a) OP float(b));                                                              \
  }                                                                                              \
  template <class U, std::enable_if_t<std::is_arithmetic_v<U> || std::is_same_v<U, T>, int> = 0> \
  T& operator OP## = (T & a, const U& b) {                                                       \
    return a = T(float(a) OP float(b));                                                          \
  }
#define TL_FACE_HALF(T, FROM, TO)                                                                       \
  struct alignas(2) T {                                                                                 \
    uint16_t x = 0;                                                                                     \
    struct from_bits_t {};                                                                              \
    static constexpr from_bits_t from_bits() { return {}; }                                             \
    T() = default;                                                                                      \
    constexpr T(uint16_t bits, from_bits_t) : x(bits) {}                                                \
    T(float f) : x(face::FROM(f)) {}                                                                    \
    template <class I, std::enable_if_t<std::is_arithmetic_v<I> && !std::is_same_v<I, float>, int> = 0> \
    T(I i) : T(static_cast<float>(i)) {}                                                                \
    operator float() const { return face::TO(x); }                                                      \
    T operator-() const { return T(uint16_t(x ^ 0x8000), from_bits()); }                                \
    T& operator++() { return *this = T(float(*this) + 1); }                                             \
    T& operator--() { return *this = T(float(*this) - 1); }                                             \
  };                                                                                                    \
  TL_FACE_HALF_MIXED(T, +)                                                                              \
  TL_FACE_HALF_MIXED(T, -)                                                                              \
  TL_FACE_HALF_MIXED(T, *)                                                                              \
  TL_FACE_HALF_MIXED(T, /) inline std::ostream& operator<<(std::ostream& out, const T& v) {             \
    return out << float(v);                                                                             \
  }
  TL_FACE_HALF(Half, half_of_float, float_of_half)
  TL_FACE_HALF(BFloat16, bfloat16_of_float, float_of_bfloat16)
#undef TL_FACE_HALF
#undef TL_FACE_HALF_MIXED

  template <class T>
  using complex = std::complex<T>;

  // Types that only carry bits.
#define TL_FACE_BITS(T, BITS)                    \
  struct T {                                     \
    BITS x = 0;                                  \
    T() = default;                               \
    constexpr explicit T(BITS bits) : x(bits) {} \
  };
  TL_FACE_BITS(Float8_e4m3fn, uint8_t)
  TL_FACE_BITS(Float8_e5m2, uint8_t)
  TL_FACE_BITS(Float8_e4m3fnuz, uint8_t)
  TL_FACE_BITS(Float8_e5m2fnuz, uint8_t)
  TL_FACE_BITS(Float8_e8m0fnu, uint8_t)
  TL_FACE_BITS(qint8, int8_t)
  TL_FACE_BITS(quint8, uint8_t)
  TL_FACE_BITS(qint32, int32_t)
#undef TL_FACE_BITS

  template <class T>
  struct is_complex : std::false_type {};
  template <class T>
  struct is_complex<std::complex<T>> : std::true_type {};
}
}  // namespace c10

namespace at {
using Half = c10::Half;
using BFloat16 = c10::BFloat16;
}  // namespace at

namespace std {
#define TL_FACE_LIMITS(T, DIGITS, EXPONENT10, LOWEST, LARGEST, LEAST, INFINITE, NOT_A_NUMBER, SIGNAL, STEP, \
                       TINY)                                                                                \
  template <>                                                                                               \
  class numeric_limits<c10::T> : public numeric_limits<float> {                                             \
    static constexpr c10::T of(uint16_t bits) { return c10::T(bits, c10::T::from_bits()); }                 \
                                                                                                            \
   public:                                                                                                  \
    static constexpr int digits = DIGITS, digits10 = (DIGITS - 1) * 3 / 10,                                 \
                         max_digits10 = DIGITS * 3 / 10 + 2;                                                \
    static constexpr int min_exponent = EXPONENT10 == 4 ? -13 : -125;                                       \
    static constexpr int max_exponent = EXPONENT10 == 4 ? 16 : 128;                                         \
    static constexpr int min_exponent10 = EXPONENT10 == 4 ? -4 : -37, max_exponent10 = EXPONENT10;          \
    static constexpr c10::T round_error() { return of(EXPONENT10 == 4 ? 0x3800 : 0x3f00); }                 \
    static constexpr c10::T signaling_NaN() { return of(SIGNAL); }                                          \
    static constexpr c10::T lowest() { return of(LOWEST); }                                                 \
    static constexpr c10::T max() { return of(LARGEST); }                                                   \
    static constexpr c10::T min() { return of(LEAST); }                                                     \
    static constexpr c10::T infinity() { return of(INFINITE); }                                             \
    static constexpr c10::T quiet_NaN() { return of(NOT_A_NUMBER); }                                        \
    static constexpr c10::T epsilon() { return of(STEP); }                                                  \
    static constexpr c10::T denorm_min() { return of(TINY); }                                               \
  };
TL_FACE_LIMITS(Half, 11, 4, 0xfbff, 0x7bff, 0x0400, 0x7c00, 0x7e00, 0x7d00, 0x1400, 1)
TL_FACE_LIMITS(BFloat16, 8, 38, 0xff7f, 0x7f7f, 0x0080, 0x7f80, 0x7fc0, 0x7fa0, 0x3c00, 1)
#undef TL_FACE_LIMITS

#define TL_FACE_MATH1(T, F) \
  inline c10::T F(c10::T a) { return c10::T(std::F(float(a))); }
#define TL_FACE_MATH(F) TL_FACE_MATH1(Half, F) TL_FACE_MATH1(BFloat16, F)
// clang-format off
TL_FACE_MATH(abs)
TL_FACE_MATH(fabs)
TL_FACE_MATH(floor)
TL_FACE_MATH(ceil)
TL_FACE_MATH(round)
TL_FACE_MATH(trunc)
TL_FACE_MATH(exp)
TL_FACE_MATH(log)
TL_FACE_MATH(sqrt)
TL_FACE_MATH(tanh)
TL_FACE_MATH(sin)
TL_FACE_MATH(cos)
TL_FACE_MATH(expm1)
TL_FACE_MATH(log1p)
TL_FACE_MATH(log2)
TL_FACE_MATH(log10)
TL_FACE_MATH(erf)
TL_FACE_MATH(rint)
// clang-format on
#undef TL_FACE_MATH
#undef TL_FACE_MATH1
inline bool isnan(c10::Half a) { return (a.x & 0x7fff) > 0x7c00; }
inline bool isnan(c10::BFloat16 a) { return (a.x & 0x7fff) > 0x7f80; }
inline bool isinf(c10::Half a) { return (a.x & 0x7fff) == 0x7c00; }
inline bool isinf(c10::BFloat16 a) { return (a.x & 0x7fff) == 0x7f80; }
template <>
struct hash<c10::Half> {
  size_t operator()(c10::Half a) const { return a.x; }
};
template <>
struct hash<c10::BFloat16> {
  size_t operator()(c10::BFloat16 a) const { return a.x; }
};
}  // namespace std

#endif  // TL_TORCH_HALF_HPP

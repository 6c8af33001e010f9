// The functions of one element. Each operator is one struct: `params` counts its numbers, `simd` says that
// apply also takes vectors of float and double (then the loops use only those for floating dtypes).
#pragma once

#include "kernels/cpu/loops/arithmetic.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE::functions {

#define TL_UNARY(NAME, SIMD, ...)                                   \
  struct NAME {                                                     \
    static constexpr int params = 0;                                \
    static constexpr bool simd = SIMD;                              \
    template <class T, class P>                                     \
    static TL_INLINE auto apply(T x, [[maybe_unused]] const P* p) { \
      __VA_ARGS__                                                   \
    }                                                               \
  };

TL_UNARY(identity, true, return x;)
TL_UNARY(positive, true, return x;)
// Of two floats as one integer, of which the upper bit is the imaginary part's sign.
TL_UNARY(conj_physical, true,
         if constexpr (std::is_same_v<T, C<float>>) return bitcast<T>(bitcast<uint64_t>(x) ^
                                                                      (uint64_t{1} << 63));
         else if constexpr (is_complex_type<T>) return conj(x); else return x;)
TL_UNARY(cube, true, return times(times(x, x), x);)
TL_UNARY(inverse_square, true, return quotient(one_like(x), times(x, x));)
TL_UNARY(neg_value, true, if constexpr (std::is_integral_v<T>) return static_cast<T>(T{} - wrapping(x));
         else return -x;)
TL_UNARY(square, true, return times(x, x);)
TL_UNARY(abs_value, true, if constexpr (std::is_unsigned_v<T>) return x;
         else if constexpr (std::is_integral_v<T>) return static_cast<T>(x < 0 ? Wrapping<T>{} - wrapping(x)
                                                                               : wrapping(x));
         else return math::abs(x);)
// Of a half float only the sign changes: `bits` does it without a conversion.
struct neg : neg_value {
  static TL_INLINE uint16_t bits(uint16_t x) { return x ^ 0x8000; }
};
struct abs : abs_value {
  static TL_INLINE uint16_t bits(uint16_t x) { return x & 0x7fff; }
};
// NaN has no sign: the reference answers 0 for real dtypes.
TL_UNARY(sign, true,
         if constexpr (is_vec<T>) return select<T>(x > 0, T{} + 1, select<T>(x < 0, T{} - 1, T{}));
         else if constexpr (is_complex_type<T>) return is_zero(x) ? x : x * (1 / math::abs(x));
         else return static_cast<T>((x > T{}) - (x < T{}));)
TL_UNARY(relu, true, if constexpr (is_vec<T>) return select<T>(x < 0, T{}, x); else return x < T{} ? T{} : x;)
TL_UNARY(reciprocal, true, return quotient(one_like(x), x);)
TL_UNARY(sqrt, true, return math::sqrt(x);)
TL_UNARY(rsqrt, true, return quotient(one_like(x), math::sqrt(x));)
TL_UNARY(floor, true, if constexpr (std::is_integral_v<T>) return x; else return math::floor(x);)
TL_UNARY(ceil, true, if constexpr (std::is_integral_v<T>) return x; else return math::ceil(x);)
TL_UNARY(exp, true, return math::exp(x);)
TL_UNARY(log, true, return math::log(x);)
TL_UNARY(expm1, true, return math::expm1(x);)
TL_UNARY(log1p, true, return math::log1p(x);)
TL_UNARY(sigmoid, true, if constexpr (is_complex_type<T>) return one_like(x) / (one_like(x) + math::exp(-x));
         else return math::sigmoid(x);)
TL_UNARY(isnan, true, if constexpr (std::is_integral_v<T>) return false; else return is_nan(x);)
TL_UNARY(logical_not, true, if constexpr (is_complex_type<T>) return is_zero(x); else return x == T{};)
TL_UNARY(bitwise_not, false, if constexpr (std::is_same_v<T, bool>) return !x;
         else return static_cast<T>(~x);)
TL_UNARY(angle, true, if constexpr (is_complex_type<T>) return arg(x);
         else if constexpr (is_vec<T>) return select<T>(
             is_nan(x), x, select<T>(x < 0, spread<T>(Lane<T>(3.14159265358979323846)), T{}));
         else return x != x ? x
         : x < T{}          ? static_cast<T>(3.14159265358979323846)
                            : T{};)
TL_UNARY(real, true, if constexpr (is_complex_type<T>) return x.re; else return x;)
TL_UNARY(imag, false, if constexpr (is_complex_type<T>) return x.im; else return T{};)

#undef TL_UNARY

// Bounds of which the upper one wins when they cross; NaN stays.
struct clamp {
  static constexpr int params = 2;  // min, max
  static constexpr bool simd = true;
  template <class T, class P>
  static TL_INLINE T apply(T x, const P* p) {
    return minimum(maximum(x, spread<T>(p[0])), spread<T>(p[1]));
  }
};
struct clamp_min {
  static constexpr int params = 1;
  static constexpr bool simd = true;
  template <class T, class P>
  static TL_INLINE T apply(T x, const P* p) {
    return maximum(x, spread<T>(p[0]));
  }
};
struct clamp_max {
  static constexpr int params = 1;
  static constexpr bool simd = true;
  template <class T, class P>
  static TL_INLINE T apply(T x, const P* p) {
    return minimum(x, spread<T>(p[0]));
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE::functions

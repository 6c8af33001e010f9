// The functions of two elements; see unary.h for the form.
#pragma once

#include "kernels/cpu/loops/arithmetic.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE::functions {

#define TL_BINARY(NAME, PARAMS, SIMD, ...)                               \
  struct NAME {                                                          \
    static constexpr int params = PARAMS;                                \
    static constexpr bool simd = SIMD;                                   \
    template <class T, class P>                                          \
    static TL_INLINE auto apply(T x, T y, [[maybe_unused]] const P* p) { \
      __VA_ARGS__                                                        \
    }                                                                    \
  };

// Integers have no fast vector product, complex numbers' takes its time and makes NaN of infinite parts:
// loops without one are worth their room.
template <class T, class P>
TL_INLINE T by_alpha(T y, P alpha) {
  if constexpr (is_whole<T>() || is_complex_type<T>) {
    if (alpha == one_like(alpha)) return y;
  }
  return times(spread<T>(alpha), y);
}
TL_BINARY(add, 1, true, return plus(x, by_alpha(y, p[0]));)   // x + alpha * y
TL_BINARY(sub, 1, true, return minus(x, by_alpha(y, p[0]));)  // x - alpha * y
struct mul {
  static constexpr int params = 0;
  static constexpr bool simd = true;
  template <class T, class P>
  static TL_INLINE auto apply(T x, T y, const P*) {
    return times(x, y);
  }
  template <class V>
  static TL_INLINE V pairs(V x, V y) {  // of complex numbers, part by part
    return pair_products(x, y);
  }
};
TL_BINARY(div, 0, true, return quotient(x, y);)  // of integers: towards zero
TL_BINARY(div_trunc, 0, true, if constexpr (std::is_integral_v<T>) return quotient(x, y);
          else return math::trunc(x / y);)

TL_BINARY(pow, 0, true, if constexpr (std::is_integral_v<T>) return integer_power(x, y);
          else return math::pow(x, y);)

TL_BINARY(maximum, 0, true, if constexpr (std::is_integral_v<Lane<T>>) return x < y ? y : x;
          else return math::maximum(x, y);)
TL_BINARY(minimum, 0, true, if constexpr (std::is_integral_v<Lane<T>>) return y < x ? y : x;
          else return math::minimum(x, y);)

TL_BINARY(eq, 0, true, return x == y;)
TL_BINARY(ne, 0, true, return x != y;)
TL_BINARY(lt, 0, true, return x < y;)
TL_BINARY(le, 0, true, return x <= y;)
TL_BINARY(gt, 0, true, return x > y;)
TL_BINARY(ge, 0, true, return x >= y;)

template <class T>
TL_INLINE auto truth(T x) {
  if constexpr (is_complex_type<T>)
    return !is_zero(x);
  else
    return x != T{};
}
TL_BINARY(logical_and, 0, true, return truth(x) & truth(y);)
TL_BINARY(logical_or, 0, true, return truth(x) | truth(y);)
TL_BINARY(logical_xor, 0, true, return truth(x) ^ truth(y);)
TL_BINARY(bitwise_and, 0, false, return static_cast<T>(x & y);)
TL_BINARY(bitwise_or, 0, false, return static_cast<T>(x | y);)
TL_BINARY(bitwise_xor, 0, false, return static_cast<T>(x ^ y);)

// Derivatives: x is the gradient, y the input (threshold) or the result (sigmoid, tanh).
TL_BINARY(threshold_backward, 1, true, if constexpr (is_vec<T>) return select<T>(y <= p[0], T{}, x);
          else return y <= p[0] ? T{} : x;)
template <class T>
TL_INLINE T conjugate(T x) {
  if constexpr (is_complex_type<T>)
    return conj(x);
  else
    return x;
}
TL_BINARY(sigmoid_backward, 0, true, return x * conjugate((one_like(y) - y) * y);)
TL_BINARY(tanh_backward, 0, true, return x * conjugate(one_like(y) - y * y);)

#undef TL_BINARY

// ComplexOf from its parts: what `complex(real, imag)` does.
struct complex {
  static constexpr int params = 0;
  static constexpr bool simd = false;
  template <class T, class P>
  static TL_INLINE C<T> apply(T re, T im, const P*) {
    return {re, im};
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE::functions

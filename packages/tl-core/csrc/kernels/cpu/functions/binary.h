// The functions of two elements; see unary.h for the form.
#pragma once

#include "kernels/cpu/functions/arithmetic.h"
#include "kernels/cpu/vec_math.h"

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

TL_BINARY(add, 1, true, return plus(x, times(spread<T>(p[0]), y));)   // x + alpha * y
TL_BINARY(sub, 1, true, return minus(x, times(spread<T>(p[0]), y));)  // x - alpha * y
TL_BINARY(mul, 0, true, return times(x, y);)
TL_BINARY(div, 0, true, return quotient(x, y);)  // of integers: towards zero
TL_BINARY(div_trunc, 0, true, if constexpr (std::is_integral_v<T>) return quotient(x, y);
          else return math::trunc(x / y);)

// As Python divides: the remainder has the divisor's sign, the quotient is rounded down.
template <class T>
TL_INLINE T python_remainder(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const T left = rest(x, y);
    if constexpr (std::is_signed_v<T>)
      return left != 0 && (left < 0) != (y < 0) ? static_cast<T>(left + y) : left;
    else
      return left;
  } else {
    const T left = std::fmod(x, y);
    return left != 0 && (left < 0) != (y < 0) ? left + y : left;
  }
}
template <class T>
TL_INLINE T python_quotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const T whole = quotient(x, y);
    if constexpr (std::is_signed_v<T>)
      return rest(x, y) != 0 && (x < 0) != (y < 0) ? static_cast<T>(whole - 1) : whole;
    else
      return whole;
  } else {
    if (y == 0) return x / y;
    const T left = std::fmod(x, y);
    T whole = (x - left) / y;
    if (left != 0 && (left < 0) != (y < 0)) whole -= 1;
    if (whole == 0) return std::copysign(T(0), x / y);
    const T down = std::floor(whole);
    return whole - down > T(0.5) ? down + 1 : down;  // the division may have rounded up
  }
}

#define TL_EACH_LANE(f)                                       \
  if constexpr (is_vec<T>)                                    \
    return map(x, y, [](auto a, auto b) { return f(a, b); }); \
  else                                                        \
    return f(x, y);
TL_BINARY(remainder, 0, true, TL_EACH_LANE(python_remainder))
TL_BINARY(floor_divide, 0, true, TL_EACH_LANE(python_quotient))
#undef TL_EACH_LANE
TL_BINARY(pow, 0, true, if constexpr (std::is_integral_v<T>) return integer_power(x, y);
          else return math::pow(x, y);)
TL_BINARY(atan2, 0, true, return math::atan2(x, y);)

TL_BINARY(maximum, 0, true, if constexpr (std::is_integral_v<T>) return x < y ? y : x;
          else return math::maximum(x, y);)
TL_BINARY(minimum, 0, true, if constexpr (std::is_integral_v<T>) return y < x ? y : x;
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

// Arithmetic that is defined for every element type: integers wrap, bool means or / and, complex numbers have
// complex.h.
#pragma once

#include <limits>

#include "kernels/cpu/loops/loop_table.h"
#include "kernels/cpu/simd/complex.h"
#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// The unsigned type an integer is computed in: wide enough that no product of small types overflows int.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <class T>
TL_INLINE auto wrapping(T x) {
  if constexpr (is_vec<T>)
    return bitcast<typename VecOf<std::make_unsigned_t<Lane<T>>, sizeof(T)>::type>(x);
  else
    return static_cast<Wrapping<T>>(x);
}

// Integers and vectors of them: signed ones would not be allowed to overflow.
template <class T>
constexpr bool is_whole() {
  if constexpr (is_vec<T>)
    return std::is_integral_v<Lane<T>>;
  else
    return std::is_integral_v<T>;
}

template <class T, class U>
TL_INLINE T unwrapped(U x) {
  if constexpr (is_vec<T>)
    return bitcast<T>(x);
  else
    return static_cast<T>(x);
}

template <class T>
TL_INLINE T plus(T x, T y) {
  if constexpr (std::is_same_v<T, bool>)
    return x || y;
  else if constexpr (is_whole<T>())
    return unwrapped<T>(wrapping(x) + wrapping(y));
  else
    return x + y;
}
template <class T>
TL_INLINE T minus(T x, T y) {
  if constexpr (std::is_same_v<T, bool>)
    return x != y;
  else if constexpr (is_whole<T>())
    return unwrapped<T>(wrapping(x) - wrapping(y));
  else
    return x - y;
}
template <class T>
TL_INLINE T times(T x, T y) {
  if constexpr (std::is_same_v<T, bool>)
    return x && y;
  else if constexpr (is_whole<T>())
    return unwrapped<T>(wrapping(x) * wrapping(y));
  else
    return x * y;
}
template <class T>
TL_INLINE T one_like(T) {
  if constexpr (is_complex_type<T>)
    return {1, 0};
  else
    return T{} + 1;
}
// A vector, or a scalar, holding the parameter.
template <class T, class P>
TL_INLINE T spread(P p) {
  if constexpr (is_vec<T>)
    return broadcast<T>(p);
  else
    return p;
}

// Integer division towards zero; min / -1 wraps instead of trapping. Operators refuse a divisor of zero
// before the loop runs (find_zero.h).
template <class T>
TL_INLINE T quotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) [[unlikely]]
      return T{};
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) [[unlikely]]
        return static_cast<T>(Wrapping<T>{} - wrapping(x));
    }
    return static_cast<T>(x / y);
  } else {
    return x / y;
  }
}

// Both results of one division towards zero.
template <class T>
struct Division {
  T quotient, rest;
};
template <class T>
TL_INLINE Division<T> divide(T x, T y) {
  if (std::is_signed_v<T> ? wrapping(y) + 1 <= 1 : y == 0) [[unlikely]]  // 0 or -1
    return {y == 0 ? T{} : static_cast<T>(Wrapping<T>{} - wrapping(x)), T{}};
  return {static_cast<T>(x / y), static_cast<T>(x % y)};
}
template <class T>
TL_INLINE T rest(T x, T y) {
  return divide(x, y).rest;
}

// By repeated squaring, wrapping around. Negative powers: 1, -1 and, of everything else, 0.
template <class T>
inline T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    }
  }
  Wrapping<T> result = 1, factor = wrapping(base);
  for (auto n = wrapping(exponent); n; n >>= 1, factor *= factor) {
    if (n & 1) result *= factor;
  }
  return static_cast<T>(result);
}

namespace functions {

namespace math = ::tl::cpu::TL_ISA_NAMESPACE;  // the functions that functors of the same name hide

// What computes F where vectors of it become the dtype Out: a bfloat16 shows less than F may give.
template <class F, class Out>
struct FunctionFor {
  using type = F;
};

}  // namespace functions

}  // namespace tl::cpu::TL_ISA_NAMESPACE

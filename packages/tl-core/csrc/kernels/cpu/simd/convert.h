// The value of one element as another element type. Integers wrap; floating numbers too large for an integer
// come out as x86's truncation leaves them; complex to real drops the imaginary part; NaN is true.
#pragma once

#include <type_traits>

#include "kernels/cpu/simd/complex.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// Small integers go through int32, unsigned 64-bit ones through int64, so that every level and compiler wraps
// alike.
template <class Int, class Float>
TL_INLINE Int truncate(Float x) {
  if constexpr (sizeof(Int) < 4 || std::is_same_v<Int, int32_t>) {
    return static_cast<Int>(static_cast<int32_t>(x));
  } else if constexpr (std::is_same_v<Int, uint64_t>) {
    constexpr Float half = static_cast<Float>(0x1p63);
    return x < half ? static_cast<uint64_t>(static_cast<int64_t>(x))
                    : static_cast<uint64_t>(static_cast<int64_t>(x - half)) ^ (uint64_t{1} << 63);
  } else {
    return static_cast<Int>(static_cast<int64_t>(x));
  }
}

// Between compute types (see OpMathOf).
template <class To, class From>
TL_INLINE To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (is_complex_type<To> && is_complex_type<From>) {
    return {static_cast<Real<To>>(x.re), static_cast<Real<To>>(x.im)};
  } else if constexpr (is_complex_type<To>)
    return {static_cast<Real<To>>(x), 0};
  else if constexpr (std::is_same_v<To, bool> && is_complex_type<From>)
    return !is_zero(x);
  else if constexpr (is_complex_type<From>)
    return convert<To>(x.re);
  else if constexpr (std::is_same_v<To, bool>)
    return x != 0;
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return truncate<To>(x);
  else
    return static_cast<To>(x);
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// The functions of three elements; see unary.h for the form.
#pragma once

#include "kernels/cpu/loops/arithmetic.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE::functions {

struct where {
  static constexpr int params = 0;
  static constexpr bool simd = true;
  template <class M, class T, class P>
  static TL_INLINE T apply(M condition, T x, T y, const P*) {
    return select<T>(condition, x, y);
  }
};

struct addcmul {  // x + value * y * z
  static constexpr int params = 1;
  static constexpr bool simd = true;
  template <class T, class P>
  static TL_INLINE T apply(T x, T y, T z, const P* p) {
    return plus(x, times(times(spread<T>(p[0]), y), z));
  }
};

struct addcdiv {  // x + value * y / z
  static constexpr int params = 1;
  static constexpr bool simd = true;
  template <class T, class P>
  static TL_INLINE T apply(T x, T y, T z, const P* p) {
    return plus(x, quotient(times(spread<T>(p[0]), y), z));
  }
};

struct clamp_tensor {  // between y and z; the upper bound wins, NaN anywhere stays
  static constexpr int params = 0;
  static constexpr bool simd = true;
  template <class T, class P>
  static TL_INLINE T apply(T x, T low, T high, const P*) {
    if constexpr (std::is_integral_v<T>) {
      const T raised = x < low ? low : x;
      return high < raised ? high : raised;
    } else {
      return cpu::TL_ISA_NAMESPACE::minimum(cpu::TL_ISA_NAMESPACE::maximum(x, low), high);
    }
  }
};

// From the nearer end, so that both ends are exact.
struct lerp {
  static constexpr int params = 0;
  static constexpr bool simd = true;
  template <class T, class P>
  static TL_INLINE T apply(T start, T end, T weight, const P*) {
    const T span = end - start, from_start = start + weight * span,
            from_end = end - span * (one_like(weight) - weight);
    if constexpr (is_complex_type<T>) {
      return weight.re * weight.re + weight.im * weight.im < Real<T>(0.25) ? from_start : from_end;
    } else {
      return select<T>(math::abs(weight) < Lane<T>(0.5), from_start, from_end);
    }
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE::functions

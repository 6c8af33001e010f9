// Rounding, signs, classification, and what else is quick to compute.
#pragma once

#include "kernels/cpu/elementwise/functor.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE::functions {

template <class T>
inline constexpr bool is_whole = std::is_integral_v<T>;

TL_UNARY(trunc, true, if constexpr (is_whole<T>) return x; else return math::trunc(x);)
TL_UNARY(round, true, if constexpr (is_whole<T>) return x; else return round_even(x);)
TL_UNARY(frac, true, return x - math::trunc(x);)
// To decimals: p[0] is the power of ten to multiply with, p[1] that to divide by, one of them 1.
TL_UNARY_WITH(round_decimals, 2, true, if constexpr (is_whole<T>) return x;
              else return round_even(x * p[0] / p[1]) / p[0] * p[1];)

// ---- classes of numbers -----------------------------------------------------------------------------------
template <class T>
inline constexpr Lane<T> kInfinity = std::numeric_limits<Lane<T>>::infinity();
template <class T>
TL_INLINE auto finite(T x) {
  return math::abs(x) < kInfinity<T>;
}
template <class T>
TL_INLINE auto infinite(T x) {
  return math::abs(x) == kInfinity<T>;
}
TL_UNARY(isfinite, true, if constexpr (is_whole<T>) return true;
         else if constexpr (is_complex_type<T>) return finite(x.re) && finite(x.im); else return finite(x);)
TL_UNARY(isinf, true, if constexpr (is_whole<T>) return false;
         else if constexpr (is_complex_type<T>) return infinite(x.re) || infinite(x.im);
         else return infinite(x);)
TL_UNARY(isposinf, true, if constexpr (is_whole<T>) return false; else return x == kInfinity<T>;)
TL_UNARY(isneginf, true, if constexpr (is_whole<T>) return false; else return x == -kInfinity<T>;)
TL_UNARY(signbit, true, if constexpr (is_whole<T>) return x < T{}; else return bitcast<BitsOf<T>>(x) < 0;)

// ---- the replacement of what isn't finite: NaN, inf, -inf -------------------------------------------------
template <class T, class R>
TL_INLINE T replaced(T x, R nan, R positive, R negative) {
  const T bounded = select<T>(x == kInfinity<T>, spread<T>(positive),
                              select<T>(x == -kInfinity<T>, spread<T>(negative), x));
  return select<T>(is_nan(x), spread<T>(nan), bounded);
}
TL_UNARY_WITH(nan_to_num, 3, true, if constexpr (is_whole<T>) return x;
              else if constexpr (is_complex_type<T>) return T{replaced(x.re, p[0].re, p[1].re, p[2].re),
                                                              replaced(x.im, p[0].re, p[1].re, p[2].re)};
              else return replaced(x, p[0], p[1], p[2]);)

// ---- two inputs -------------------------------------------------------------------------------------------
// The larger and the smaller one; of a NaN and a number, the number.
TL_BINARY(fmax, 0, true, if constexpr (is_whole<T>) return x < y ? y : x;
          else return select<T>(is_nan(x), y, select<T>(x < y, y, x));)
TL_BINARY(fmin, 0, true, if constexpr (is_whole<T>) return y < x ? y : x;
          else return select<T>(is_nan(x), y, select<T>(y < x, y, x));)
TL_BINARY(copysign, 0, true, return math::copysign(x, y);)
// y where x is 0, else whether x is positive.
TL_BINARY(heaviside, 0, true, if constexpr (is_whole<T>) return x == 0 ? y : static_cast<T>(x > 0);
          else return select<T>(x == 0, y, select<T>(x > 0, T{} + 1, T{}));)

// What a division towards zero leaves. In double a quotient of floats below 2^28 is cut off at the right
// whole number, and its product with the divisor is exact.
TL_INLINE VecF fast_fmod(VecF x, VecF y) {
  const VecF rest = in_double(x, y, [](VecD a, VecD b) { return math::fma(math::trunc(a / b), -b, a); });
  const auto far = (math::abs(x) >= math::abs(y) * 0x1p28f) | infinite(y);  // where NaN, the rest is
  if (!any(far)) [[likely]]
    return math::copysign(rest, x);
  return select<VecF>(far, math::fmod(x, y), math::copysign(rest, x));
}
TL_BINARY(fmod, 0, true, if constexpr (is_whole<T>) return rest(x, y);
          else if constexpr (std::is_same_v<T, VecF>) return fast_fmod(x, y); else return math::fmod(x, y);)

// As Python divides: the remainder has the divisor's sign, the quotient is rounded down.
template <class T>
TL_INLINE T float_rest(T x, T y) {
  if constexpr (std::is_same_v<T, VecF>)
    return fast_fmod(x, y);
  else
    return math::fmod(x, y);
}
template <class T>
TL_INLINE auto signs_differ(T left, T y) {
  if constexpr (is_whole<T>)
    return (left != 0) & ((left ^ y) < 0);  // without a branch: signs may be random
  else
    return (left != T{}) & ((left < T{}) != (y < T{}));
}
TL_BINARY(
    remainder, 0, true, if constexpr (std::is_unsigned_v<T>) return rest(x, y);
    else if constexpr (is_whole<T>) {
      const T left = rest(x, y);
      return static_cast<T>(left + (y & -T{signs_differ(left, y)}));
    } else {
      const T left = float_rest(x, y);
      return select<T>(signs_differ(left, y), left + y, left);
    })
TL_BINARY(
    floor_divide, 0, true, if constexpr (std::is_unsigned_v<T>) return quotient(x, y);
    else if constexpr (is_whole<T>) {
      const auto [whole, left] = divide(x, y);
      return static_cast<T>(whole - signs_differ(left, y));
    } else {
      const T left = float_rest(x, y), ratio = x / y, exact = (x - left) / y;
      const T whole = select<T>(signs_differ(left, y), exact - one_like(x), exact), down = math::floor(whole);
      // the division may have rounded up
      const T nearest = select<T>(whole - down > T{} + 0.5f, down + one_like(x), down);
      return select<T>(y == T{}, ratio, select<T>(whole == T{}, math::copysign(T{}, ratio), nearest));
    })

// ---- the parts of a number, and its neighbours ------------------------------------------------------------
template <class V>
struct Format {  // of a vector's lanes, which are IEEE 754's
  using T = Lane<V>;
  using Bits = Lane<BitsOf<V>>;
  static constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  static constexpr Bits kHalfExponent = std::numeric_limits<T>::max_exponent - 2;  // that of 1/2
  static constexpr Bits kExponents = 2 * kHalfExponent + 3;                        // all bits of it
};
template <class V>
using UnsignedBitsOf = typename VecOf<std::make_unsigned_t<typename Format<V>::Bits>, kVecBytes>::type;

// What isn't zero and is finite is mantissa * 2^exponent, the mantissa at least 1/2 and less than 1.
template <class V>
struct Parts {
  V mantissa;
  BitsOf<V> exponent;
};
template <class V>
TL_INLINE Parts<V> parts_of(V x) {
  using F = Format<V>;
  const auto tiny = math::abs(x) < std::numeric_limits<Lane<V>>::min();
  const auto bits = bitcast<BitsOf<V>>(select<V>(tiny, x * (Lane<V>(1ULL << F::kMantissa)), x));
  const auto size = bitcast<BitsOf<V>>(bitcast<UnsignedBitsOf<V>>(bits & ~kSignBit<V>) >> F::kMantissa);
  const auto mantissa = (bits & ~(F::kExponents << F::kMantissa)) | (F::kHalfExponent << F::kMantissa);
  return {bitcast<V>(mantissa), size - F::kHalfExponent - (tiny & F::kMantissa)};
}
template <class V>
TL_INLINE auto has_parts(V x) {
  return (x != 0) & (math::abs(x) < kInfinity<V>);
}
TL_UNARY(frexp_mantissa, true, return select<T>(has_parts(x), parts_of(x).mantissa, x);)
TL_UNARY(frexp_exponent, true, return __builtin_convertvector(has_parts(x) & parts_of(x).exponent, T);)

// One step away from zero or towards it is the next or the last of the integers with the same bits.
TL_BINARY(nextafter, 0, true, const auto bits = bitcast<BitsOf<T>>(x); const auto away = (x < y) == (x > 0);
          using U = UnsignedBitsOf<T>;  // the bits of -0 are the lowest integer
          const T step = bitcast<T>(bitcast<U>(bits) - bitcast<U>(away | 1));  // a mask is -1
          const T first = math::copysign(bitcast<T>(BitsOf<T>{} + 1), y);
          const T next = select<T>(x == 0, first, step);
          return select<T>(is_nan(x) | is_nan(y), x + y, select<T>(x == y, y, next));)

// ---- integers ---------------------------------------------------------------------------------------------
template <class T>
inline T greatest_divisor(T x, T y) {
  auto a = wrapping(static_cast<T>(x < 0 ? T{} - wrapping(x) : wrapping(x)));
  auto b = wrapping(static_cast<T>(y < 0 ? T{} - wrapping(y) : wrapping(y)));
  while (b != 0) {
    const auto left = a % b;
    a = b;
    b = left;
  }
  return static_cast<T>(a);
}
TL_BINARY(gcd, 0, false, return greatest_divisor(x, y);)
TL_BINARY(lcm, 0, false, const T divisor = greatest_divisor(x, y); if (divisor == 0) return T{};
          const T product = times(quotient(x, divisor), y);
          return static_cast<T>(product < 0 ? T{} - wrapping(product) : wrapping(product));)

// Shifts by the type's width and more, or by a negative number, push all bits out.
template <class T>
TL_INLINE bool shifts_out(T by) {
  return by < T{} || by >= static_cast<T>(8 * sizeof(T));
}
TL_BINARY(lshift, 0, false, return shifts_out(y) ? T{} : static_cast<T>(wrapping(x) << y);)
TL_BINARY(rshift, 0, false, if (!shifts_out(y)) return static_cast<T>(x >> y);
          return x < T{} ? static_cast<T>(-1) : T{};)

}  // namespace tl::cpu::TL_ISA_NAMESPACE::functions

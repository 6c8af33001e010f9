// Activation functions and their derivatives, in which x is the gradient and y the input (or, where it says
// so, the result).
#pragma once

#include "kernels/cpu/elementwise/functor.h"
#include "kernels/cpu/elementwise/normal_vectors.h"
#include "kernels/cpu/elementwise/vec_math_rare.h"

namespace tl::cpu::TL_ISA_NAMESPACE::functions {

// ---- made of straight lines -------------------------------------------------------------------------------
// Below p[0] the constant p[1].
TL_UNARY_WITH(threshold, 2, true, return select<T>(x <= p[0], spread<T>(p[1]), x);)
TL_UNARY_WITH(hardtanh, 2, true, const T raised = select<T>(x < p[0], spread<T>(p[0]), x);
              return select<T>(raised > p[1], spread<T>(p[1]), raised);)
TL_BINARY(hardtanh_backward, 2, true, return select<T>((y <= p[0]) | (y >= p[1]), T{}, x);)
TL_UNARY_WITH(leaky_relu, 1, true, return select<T>(x > 0, x, x* p[0]);)
TL_BINARY(leaky_relu_backward, 1, true, return select<T>(y > 0, x, x* p[0]);)
// The reference multiplies by the third and the sixth, so that the last bits agree.
TL_UNARY(hardsigmoid, true, const T up = x + Lane<T>(3), low = select<T>(up < 0, T{}, up);
         return select<T>(low > 6, T{} + 6, low) / Lane<T>(6);)
TL_BINARY(hardsigmoid_backward, 0, true,
          return select<T>((y > -3) & (y < 3), x / Lane<T>(6), is_nan(y) ? y : T{});)
TL_UNARY(hardswish, true, const T up = x + Lane<T>(3), low = select<T>(up < 0, T{}, up);
         return x * select<T>(low > 6, T{} + 6, low) / Lane<T>(6);)
TL_BINARY(hardswish_backward, 0, true,
          return select<T>(y <= -3, T{}, select<T>(y < 3, x*(y / Lane<T>(3) + Lane<T>(0.5)), x));)
TL_UNARY_WITH(hardshrink, 1, true, return select<T>((x >= -p[0]) & (x <= p[0]), T{}, x);)
TL_UNARY_WITH(softshrink, 1, true,
              return select<T>(x > p[0], x - p[0],
                               select<T>(x < -p[0], x + p[0], x* Lane<T>(0) + Lane<T>(0)));)
TL_BINARY(shrink_backward, 1, true, return select<T>((y >= -p[0]) & (y <= p[0]), T{}, x);)

// ---- exponential units: alpha, scale, input_scale; p[3] says that y is the result -------------------------
template <class M>
TL_INLINE M is_false(M mask) {
  if constexpr (is_vec<M>)
    return ~mask;
  else
    return !mask;
}
TL_UNARY_WITH(elu, 3, true, const auto straight = x >= 0; const T scaled = x * p[1];
              if (!any(is_false(straight))) return scaled; const T inner = select<T>(straight, T{}, x) * p[2];
              const T bent = p[2] < 0 ? math::expm1(inner)
                                      : expm1_below(inner);  // celu of a negative alpha grows
              return select<T>(straight, scaled, bent*(p[0] * p[1]));)
TL_BINARY(elu_backward, 4, true, const Lane<T> steepest = p[0] * p[1];
          const T bent = p[3] != 0 ? y + steepest : math::exp(select<T>(y > 0, T{}, y) * p[2]) * steepest;
          return x * select<T>(y <= 0, bent* p[2], spread<T>(p[1]));)

// ---- gates: x times something between 0 and 1 -------------------------------------------------------------
TL_UNARY(silu, true, if constexpr (is_complex_type<T>) return x / (one_like(x) + math::exp(-x));
         else return x / (Lane<T>(1) + math::exp(-x));)
template <class T>
TL_INLINE T gate(T x) {
  if constexpr (is_complex_type<T>)
    return one_like(x) / (one_like(x) + math::exp(-x));
  else
    return math::sigmoid(x);
}
TL_BINARY(silu_backward, 0, true, const T s = gate(y), derivative = s * (one_like(s) + y * (one_like(s) - s));
          if constexpr (is_complex_type<T>) return x * conj(derivative); else return x * derivative;)

// The size of x, at most 14.5: there e to the power of -x^2 / 2 ends as a float.
TL_INLINE VecF size_of(VecF x) {
  const VecF size = math::abs(x);
#if TL_ISA_LEVEL >= 4
  return _mm512_min_ps(VecF{} + 14.5f, size);  // of a NaN, the second
#else
  return select<VecF>(size > 14.5f, VecF{} + 14.5f, size);
#endif
}
TL_INLINE VecD size_of(VecD x) { return x; }
// e to the power of -x^2 / 2. A float's exponent is too small for exp's care about the ends.
TL_INLINE VecD bell(VecD x) { return math::exp(x * x * -0.5); }
struct BellPower {
  VecF whole, rest;  // of two, and minus twice what is left of the power of e
};
TL_INLINE BellPower bell_power(VecF size) {
  const VecF z = size * size, n = math::nearest_whole(z, -0x1.715476p-1f);
  return {n, fma(n, VecF{} + 0x1.62e430p0f, z)};
}
TL_INLINE VecF bell(VecF size) {
  const BellPower power = bell_power(size);
  const VecF p = polynomial(power.rest, 0x1.6a21a8p-16f, -0x1.123b6ap-12f, 0x1.5558fcp-9f, -0x1.55549p-6f,
                            0x1.fffffcp-4f, -0x1p-1f, 0x1p0f);
  return math::scale<VecF>(p, power.whole);
}
// The probability that a normal number is smaller than x.
TL_INLINE VecD normal_below(VecD x, VecD, VecD) { return 0.5 * math::erfc(x * -0.70710678118654752440); }
TL_INLINE VecF normal_tail(VecF size, VecF bell) {
  const VecF t = math::inverse(fma(size, VecF{} + 0.4f, VecF{} + 1.0f));
  return bell * polynomial(t, -0x1.484a6ap-5f, 0x1.9f045ap-3f, -0x1.8272e8p-2f, 0x1.04c40ep-2f,
                           -0x1.dd38fcp-7f, 0x1.460ae2p-3f, 0x1.3eb572p-3f, 0x1.4785fp-3f, -0x1.b0fc96p-17f);
}
TL_INLINE VecF normal_below(VecF x, VecF size, VecF bell) {
  const VecF tail = normal_tail(size, bell);
  return select<VecF>(x < 0, tail, 1.0f - tail);
}
// x normal_below(x): what is positive, less the tail on its side.
TL_INLINE VecD below_times(VecD x) { return x * normal_below(x, x, x); }
TL_INLINE VecF positive_part(VecF x) {
#if TL_ISA_LEVEL >= 4
  return _mm512_max_ps(VecF{}, x);  // of a NaN, the second
#else
  return select<VecF>(x < 0, VecF{}, x);
#endif
}
// -|x|, but at most 14.5 in size above 0: there a tail of 0 times infinity would be NaN.
TL_INLINE VecF negative_part(VecF x, VecF size) {
#if TL_ISA_LEVEL >= 4
  return _mm512_min_ps(-size, x);
#else
  return select<VecF>(x < -size, x, -size);
#endif
}
TL_INLINE VecF less_tail(VecF x, VecF size, VecF tail) {
  return fma(negative_part(x, size), tail, positive_part(x));
}
TL_INLINE VecF below_times(VecF x) {
  const VecF size = size_of(x);
  return less_tail(x, size, normal_tail(size, bell(size)));
}
TL_UNARY(gelu, true, return below_times(x);)
// The same to 2^-13: all that a bfloat16 shows.
TL_INLINE VecF below_times_roughly(VecF x) {
  const VecF size = size_of(x), t = math::rough_inverse(fma(size, VecF{} + 0.4f, VecF{} + 1.0f));
  const BellPower power = bell_power(size);
  const VecF bell = polynomial(power.rest, 0x1.53a0e6p-9f, -0x1.57e0d8p-6f, 0x1.0005b8p-3f, -0x1.fffb34p-2f,
                               0x1.ffffe8p-1f);
  const VecF tail = polynomial(t, -0x1.31b184p-4f, 0x1.de619ep-4f, 0x1.2e2c1ep-3f, 0x1.301c26p-3f,
                               0x1.4ba504p-3f, -0x1.52bc0ap-13f);
  return less_tail(x, size, math::scale<VecF>(bell, power.whole) * tail);
}
TL_UNARY(gelu_bfloat16, true, return below_times_roughly(x);)
template <>
struct FunctionFor<gelu, BFloat16> {
  using type = gelu_bfloat16;
};
TL_BINARY(gelu_backward, 0, true, const T size = size_of(y), e = bell(size);
          return x * fma(y * Lane<T>(0.39894228040143267794), e, normal_below(y, size, e));)
template <class T>
TL_INLINE T gelu_inner(T x) {
  return Lane<T>(0.79788456080286535588) * (x + Lane<T>(0.044715) * x * x * x);
}
TL_UNARY(gelu_tanh, true, return Lane<T>(0.5) * x * (Lane<T>(1) + math::tanh(gelu_inner(x)));)
TL_BINARY(gelu_tanh_backward, 0, true, const T t = math::tanh(gelu_inner(y));
          const T derivative = Lane<T>(0.79788456080286535588) * (Lane<T>(1) + Lane<T>(3 * 0.044715) * y * y);
          return x * Lane<T>(0.5) * ((Lane<T>(1) + t) + y * (Lane<T>(1) - t * t) * derivative);)

// ---- by way of log(1 + exp(x)) ----------------------------------------------------------------------------
// Straight where x * p[0] exceeds p[1].
TL_UNARY_WITH(softplus, 2, true, const T scaled = x * p[0];
              const T curved = math::log1p(math::exp(select<T>(scaled > p[1], T{}, scaled))) / p[0];
              return select<T>(scaled > p[1], x, curved);)
TL_BINARY(softplus_backward, 2, true, const T scaled = y * p[0];
          return select<T>(scaled > p[1], x, x* math::sigmoid(scaled));)
TL_UNARY(log_sigmoid, true, return select<T>(x < 0, x, T{}) - math::log1p(math::exp(-math::abs(x)));)
TL_BINARY(log_sigmoid_backward, 0, true, return x * math::sigmoid(-y);)
// x tanh(log(1 + e^x)) is x times a rational function of e^x.
template <class T>
TL_INLINE T mish_gate(T x) {
  const T e = math::exp(select<T>(x > Lane<T>(30), T{}, x)), n = e * (e + Lane<T>(2));
  return select<T>(x > Lane<T>(30), T{} + 1, n / (n + Lane<T>(2)));
}
TL_UNARY(mish, true, return x * mish_gate(x);)
TL_BINARY(mish_backward, 0, true, const T t = mish_gate(y);
          return x * (t + y * math::sigmoid(y) * (Lane<T>(1) - t * t));)

TL_BINARY(prelu, 0, true, return select<T>(x > 0, x, x* y);)
TL_BINARY(gated, 0, true, if constexpr (is_complex_type<T>) return x / (one_like(y) + math::exp(-y));
          else return x * math::sigmoid(y);)

// ---- losses: of a prediction and its target ---------------------------------------------------------------
TL_BINARY(squared_error, 0, true, const T d = x - y; return d * d;)
TL_BINARY(huber_error, 1, true, const T d = math::abs(x - y);
          return select<T>(d <= p[0], d * d * Lane<T>(0.5), (d - Lane<T>(0.5) * p[0]) * p[0]);)
TL_BINARY(smooth_l1_error, 1, true, const T d = math::abs(x - y);
          return select<T>(d < p[0], d * d * (Lane<T>(0.5) / p[0]), d - Lane<T>(0.5) * p[0]);)

}  // namespace tl::cpu::TL_ISA_NAMESPACE::functions

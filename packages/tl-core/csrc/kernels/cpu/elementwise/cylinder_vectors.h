// Bessel functions of the first and second kind, orders 0 and 1, of floats: in double by piecewise
// polynomials up to 8, then in Hankel's form. "DLMF" is the NIST Digital Library of Mathematical Functions.
#pragma once

#include "kernels/cpu/elementwise/circle.h"
#include "kernels/cpu/elementwise/piecewise.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace cylinder {
template <size_t terms>
TL_INLINE VecD in_powers(const double (&coefficients)[terms], VecD x) {
  VecD sum = VecD{} + coefficients[0];
  for (size_t k = 1; k < terms; ++k) sum = fma(sum, x, VecD{} + coefficients[k]);
  return sum;
}

// DLMF 10.17.3, 10.17.4, with the eighths of a turn in the phase written out. pi / 2 comes in two parts, of
// which the first has room for the number of quarter turns.
template <int order, bool second>
[[gnu::noinline]] inline VecD far(VecD x) {
  const VecD quarters = round_even(x * 0x1.45f306dc9c883p-1);
  const VecD rest = fma(quarters, VecD{} - 0x1.0b4611a626331p-34, fma(quarters, VecD{} - 0x1.921fb544p0, x));
  const CirclePoint point = circle_point(rest);
  const VecD s = sine_after(quarters, point), c = sine_after(quarters + 1.0, point);
  const VecD cosine = order ? s - c : c + s, sine = order ? -(s + c) : s - c;  // times sqrt(2)
  const VecD inverse = 1.0 / x, w = 64.0 * inverse * inverse;
  const VecD p = in_powers(order ? special::kHankelP1 : special::kHankelP0, w);
  const VecD q = in_powers(order ? special::kHankelQ1 : special::kHankelQ0, w) * inverse;
  const VecD wave = second ? p * sine + q * cosine : p * cosine - q * sine;
  return wave * sqrt(inverse * 0.31830988618379067154);
}

// For x >= 0.
template <int order, bool second>
[[gnu::noinline]] inline VecD any_size(VecD x) {
  const VecD coordinate = x + x;
  const Piece at = piece_of(coordinate);
  const VecD distance = 0.5 * (coordinate - (at.begin + 0.5));
  VecD value;
  if constexpr (order == 0)
    value = piecewise(special::kBesselJ0, at.which, distance);
  else
    value = piecewise(special::kBesselJ1, at.which, distance) * x;
  if constexpr (second) {
    VecD singular = log(x) * value;
    if constexpr (order == 1) singular -= 1.0 / x;
    const VecD smooth = piecewise(order ? special::kBesselY1 : special::kBesselY0, at.which, distance);
    value = fma(singular, VecD{} + 0.63661977236758134308, smooth);
  }
  const auto beyond = x >= 8.0;
  return any(beyond) ? select<VecD>(beyond, far<order, second>(x), value) : value;
}
}  // namespace cylinder

namespace special_vectors {
// The library's function serves for doubles, of which it keeps the precision next to zeros, and for floats
// that are too large or out of the domain.
template <int order, bool second>
TL_INLINE VecD bessel(VecD x, double (*library)(double)) {
  return map(x, library);
}
template <int order, bool second>
TL_INLINE VecF bessel(VecF x, double (*library)(double)) {
  constexpr float kMost = 1e6f;
  const VecF size = abs(x);
  VecF fast = in_double(size, [](VecD v) { return cylinder::any_size<order, second>(v); });
  if constexpr (order == 1 && !second)
    fast = bitcast<VecF>(bitcast<VecI>(fast) ^ (bitcast<VecI>(x) & kSignBit<VecF>));
  const auto apart = second ? ~((x > 0) & (x <= kMost)) : ~(size <= kMost);
  if (!any(apart)) [[likely]]
    return fast;
  return select<VecF>(apart, map(x, [=](float v) { return static_cast<float>(library(v)); }), fast);
}
}  // namespace special_vectors

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// The floating-point formats of eight bits: storage types with rounding to nearest even, arithmetic in float.
// Sources: Micikevicius et al., FP8 Formats for Deep Learning, 2022, and OCP 8-bit Floating Point
// Specification 1.0 for E4M3 and E5M2; Noune et al., 8-bit Numerical Formats for Deep Neural Networks, 2022,
// for the forms without negative zero; OCP Microscaling Formats Specification 1.0 for E8M0.
#pragma once

#include <bit>
#include <cstdint>

namespace tl {

// A sign, an exponent and a mantissa. `largest` is the largest finite code, `overflow` what stands for
// numbers beyond it; the forms without negative zero keep the code 0x80 for their only NaN.
template <int mantissa, int bias, uint8_t largest, uint8_t overflow, bool negative_zero>
struct Float8 {
  uint8_t bits = 0;

  Float8() = default;
  Float8(float value) : bits(encode(std::bit_cast<uint32_t>(value))) {}
  operator float() const { return decode(bits); }

 private:
  static constexpr int kDropped = 23 - mantissa;      // bits of a float's mantissa
  static constexpr int kSmallestExponent = 1 - bias;  // of a normal number
  static constexpr uint32_t kInfinity = 0x7f800000u;  // as a float

  // The code of a magnitude; above `largest` where it is too large.
  static uint32_t rounded(uint32_t x) {
    constexpr uint32_t smallest_normal = static_cast<uint32_t>(kSmallestExponent + 127) << 23;
    if (x >= smallest_normal) {
      const uint32_t nearest = x + (1u << (kDropped - 1)) - 1 + ((x >> kDropped) & 1u);
      return (nearest >> kDropped) - (static_cast<uint32_t>(127 - bias) << mantissa);
    }
    // To this number, a sum is rounded to a multiple of the smallest subnormal.
    constexpr uint32_t magic = static_cast<uint32_t>(kSmallestExponent - mantissa + 23 + 127) << 23;
    return std::bit_cast<uint32_t>(std::bit_cast<float>(x) + std::bit_cast<float>(magic)) - magic;
  }

  static uint8_t encode(uint32_t x) {
    const auto sign = static_cast<uint8_t>(x >> 24 & 0x80u);
    x &= 0x7fffffffu;
    if (x > kInfinity) return negative_zero ? sign | 0x7fu : 0x80u;
    const uint32_t code = rounded(x);
    if (code > largest) return negative_zero ? sign | overflow : overflow;
    return negative_zero || code ? static_cast<uint8_t>(sign | code) : uint8_t{0};
  }

  static float decode(uint8_t code) {
    const uint32_t sign = (code & 0x80u) << 24, magnitude = code & 0x7fu;
    if (!negative_zero && code == 0x80u) return std::bit_cast<float>(0x7fc00000u);
    if (magnitude > largest)
      return std::bit_cast<float>(sign | (negative_zero && magnitude == 0x7cu ? kInfinity : 0x7fc00000u));
    if (magnitude >> mantissa)
      return std::bit_cast<float>(sign |
                                  ((magnitude << kDropped) + (static_cast<uint32_t>(127 - bias) << 23)));
    constexpr uint32_t step = static_cast<uint32_t>(kSmallestExponent - mantissa + 127) << 23;
    const float value = static_cast<float>(magnitude) * std::bit_cast<float>(step);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
};

using Float8_e4m3fn = Float8<3, 7, 0x7e, 0x7f, true>;     // no infinity: too large is NaN
using Float8_e5m2 = Float8<2, 15, 0x7b, 0x7c, true>;      // an IEEE format
using Float8_e4m3fnuz = Float8<3, 8, 0x7f, 0x80, false>;  // neither infinity nor negative zero
using Float8_e5m2fnuz = Float8<2, 16, 0x7f, 0x80, false>;

// A power of two, 2^(bits - 127), or NaN: no sign, no zero. The sign of a number is dropped. Halfway numbers
// go up, as the reference's do; so does all between 2^-127, the smallest number, and the next.
struct Float8_e8m0fnu {
  uint8_t bits = 0;

  Float8_e8m0fnu() = default;
  Float8_e8m0fnu(float value) : bits(encode(std::bit_cast<uint32_t>(value))) {}
  operator float() const {
    if (bits == 0xff) return std::bit_cast<float>(0x7fc00000u);
    return std::bit_cast<float>(bits ? static_cast<uint32_t>(bits) << 23 : 0x00400000u);
  }

 private:
  static uint8_t encode(uint32_t x) {
    const uint32_t exponent = x >> 23 & 0xffu, mantissa = x & 0x7fffffu;
    if (exponent == 0xff) return 0xff;
    const bool up = exponent ? mantissa >= 0x400000u : mantissa > 0x400000u;
    return static_cast<uint8_t>(exponent + up);
  }
};

}  // namespace tl

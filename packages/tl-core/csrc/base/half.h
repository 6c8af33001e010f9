// The two 16-bit floating-point formats: storage types with rounding to nearest even, arithmetic in float.
#pragma once

#include <bit>
#include <cstdint>

namespace tl {

struct Half {
  uint16_t bits = 0;

  Half() = default;
  Half(float value) : bits(std::bit_cast<uint16_t>(static_cast<_Float16>(value))) {}
  operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
};

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  BFloat16(float value) : bits(round(std::bit_cast<uint32_t>(value))) {}
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

 private:
  // A NaN must keep a mantissa bit that survives the truncation.
  static constexpr uint16_t round(uint32_t x) {
    if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
    return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
  }
};

}  // namespace tl

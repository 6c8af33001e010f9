// The element types, in the order in which tables index them.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace tl {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex32,
  Complex64,
  Complex128,
};
inline constexpr int kNumDTypes = 16;

template <class T>
struct ComplexOf {
  T re, im;
};
using Complex32 = ComplexOf<Half>;
using Complex64 = ComplexOf<float>;
using Complex128 = ComplexOf<double>;

// X(enumerator, C++ type, public name) for every dtype, in order.
#define TL_ALL_DTYPES(X)               \
  X(Bool, bool, "bool")                \
  X(UInt8, uint8_t, "uint8")           \
  X(Int8, int8_t, "int8")              \
  X(Int16, int16_t, "int16")           \
  X(Int32, int32_t, "int32")           \
  X(Int64, int64_t, "int64")           \
  X(UInt16, uint16_t, "uint16")        \
  X(UInt32, uint32_t, "uint32")        \
  X(UInt64, uint64_t, "uint64")        \
  X(Float16, Half, "float16")          \
  X(BFloat16, BFloat16, "bfloat16")    \
  X(Float32, float, "float32")         \
  X(Float64, double, "float64")        \
  X(Complex32, Complex32, "complex32") \
  X(Complex64, Complex64, "complex64") \
  X(Complex128, Complex128, "complex128")

namespace detail {
inline constexpr uint8_t kItemSize[kNumDTypes] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 4, 8, 16};
inline constexpr const char* kDTypeName[kNumDTypes] = {
#define TL_NAME(E, T, name) name,
    TL_ALL_DTYPES(TL_NAME)
#undef TL_NAME
};
}  // namespace detail

constexpr int64_t item_size(DType d) { return detail::kItemSize[static_cast<int>(d)]; }
constexpr const char* dtype_name(DType d) { return detail::kDTypeName[static_cast<int>(d)]; }
constexpr bool is_complex(DType d) { return d >= DType::Complex32; }
constexpr bool is_floating(DType d) { return d >= DType::Float16 && d <= DType::Float64; }
constexpr bool is_integral(DType d, bool with_bool) {
  return d <= DType::UInt64 && (with_bool || d != DType::Bool);
}
constexpr bool is_unsigned(DType d) {
  return d == DType::Bool || d == DType::UInt8 || (d >= DType::UInt16 && d <= DType::UInt64);
}
constexpr bool is_half(DType d) { return d == DType::Float16 || d == DType::BFloat16; }
constexpr DType to_real(DType d) {
  return d == DType::Complex32    ? DType::Float16
         : d == DType::Complex64  ? DType::Float32
         : d == DType::Complex128 ? DType::Float64
                                  : d;
}
constexpr DType to_complex(DType d) {
  return d == DType::Float16   ? DType::Complex32
         : d == DType::Float64 ? DType::Complex128
         : is_complex(d)       ? d
                               : DType::Complex64;
}

template <class T>
struct DTypeOf;
#define TL_DTYPE_OF_TYPE(E, T, name)         \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::E; \
  };
TL_ALL_DTYPES(TL_DTYPE_OF_TYPE)
#undef TL_DTYPE_OF_TYPE
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace tl

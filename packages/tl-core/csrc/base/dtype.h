// The element types, in the order in which tables index them.
#pragma once

#include <cstdint>

#include "base/float8.h"
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
inline constexpr int kNumDTypes = 16;  // those that operators compute with, and tables have loops for

// Types whose elements are stored, moved and, some of them, converted. Nothing is compiled for them, so they
// are no enumerators: a switch over the types that compute is whole without them. The layer `stored` keeps
// them from operators that do not take them (dispatch/stored_dtypes.h).
namespace stored {
inline constexpr DType Float8_e4m3fn{16}, Float8_e5m2{17}, Float8_e4m3fnuz{18}, Float8_e5m2fnuz{19},
    Float8_e8m0fnu{20}, Float4_e2m1fn_x2{21}, Bits1x8{22}, Bits2x4{23}, Bits4x2{24}, Bits8{25}, Bits16{26},
    QUInt8{27}, QInt8{28}, QInt32{29}, QUInt4x2{30}, QUInt2x4{31};
inline constexpr int kFirstUnsigned = 32, kFirstSigned = 39;  // uint1 to uint7, int1 to int7: a byte each
}  // namespace stored
inline constexpr int kNumStorableDTypes = 46;

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

// X(name in `stored`, C++ type) for those of them that are numbers.
#define TL_FLOAT8_DTYPES(X)           \
  X(Float8_e4m3fn, Float8_e4m3fn)     \
  X(Float8_e5m2, Float8_e5m2)         \
  X(Float8_e4m3fnuz, Float8_e4m3fnuz) \
  X(Float8_e5m2fnuz, Float8_e5m2fnuz) \
  X(Float8_e8m0fnu, Float8_e8m0fnu)

namespace detail {
inline constexpr uint8_t kItemSize[kNumStorableDTypes] = {
    1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 4, 8, 16,  // the types that compute
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 4, 1, 1,   // of the others, all but two are a byte
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};
inline constexpr const char* kDTypeName[kNumStorableDTypes] = {
#define TL_NAME(E, T, name) name,
    TL_ALL_DTYPES(TL_NAME)
#undef TL_NAME
        "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn_x2",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "bits8",
    "bits16",
    "quint8",
    "qint8",
    "qint32",
    "quint4x2",
    "quint2x4",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
    "int1",
    "int2",
    "int3",
    "int4",
    "int5",
    "int6",
    "int7",
};
}  // namespace detail

constexpr int64_t item_size(DType d) { return detail::kItemSize[static_cast<int>(d)]; }
constexpr const char* dtype_name(DType d) { return detail::kDTypeName[static_cast<int>(d)]; }
constexpr bool is_stored_only(DType d) { return static_cast<int>(d) >= kNumDTypes; }
constexpr bool is_float8(DType d) { return d >= stored::Float8_e4m3fn && d <= stored::Float8_e8m0fnu; }
constexpr bool is_number(DType d) { return !is_stored_only(d) || is_float8(d); }
constexpr bool is_bits(DType d) { return d >= stored::Bits1x8 && d <= stored::Bits16; }
constexpr bool is_quantized(DType d) { return d >= stored::QUInt8 && d <= stored::QUInt2x4; }
constexpr bool is_complex(DType d) { return d >= DType::Complex32 && d <= DType::Complex128; }
constexpr bool is_floating(DType d) {
  return (d >= DType::Float16 && d <= DType::Float64) ||
         (d >= stored::Float8_e4m3fn && d <= stored::Float4_e2m1fn_x2);
}
constexpr bool is_integral(DType d, bool with_bool) {
  return d <= DType::UInt64 && (with_bool || d != DType::Bool);
}
constexpr bool is_unsigned(DType d) {
  return d == DType::Bool || d == DType::UInt8 || (d >= DType::UInt16 && d <= DType::UInt64) ||
         d == stored::Float8_e8m0fnu ||
         (static_cast<int>(d) >= stored::kFirstUnsigned && static_cast<int>(d) < stored::kFirstSigned);
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
#define TL_DTYPE_OF_FLOAT8(E, T)              \
  template <>                                 \
  struct DTypeOf<T> {                         \
    static constexpr DType value = stored::E; \
  };
TL_FLOAT8_DTYPES(TL_DTYPE_OF_FLOAT8)
#undef TL_DTYPE_OF_FLOAT8
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace tl

// Scalars: range-checked conversion to any dtype, loads and stores of single elements.
#include "tensor/scalar.h"

#include <cmath>
#include <limits>

#include "base/float_range.h"

namespace tl {

namespace {
template <class T>
inline constexpr bool is_complex_type = requires(T t) { t.re; };

template <class T>
inline constexpr bool is_half_type = requires(T t) { t.bits; };  // and float8: arithmetic in float

template <class R>
R convert_real(double value) {
  if constexpr (is_half_type<R>)
    return R(static_cast<float>(value));
  else
    return static_cast<R>(value);
}

template <class T>
T convert(const Scalar& s) {
  if constexpr (is_complex_type<T>) {
    using R = decltype(T::re);
    const Complex128 c = s.to_complex();
    return {convert_real<R>(c.re), convert_real<R>(c.im)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return s.to_bool();
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(s.to_int());
  } else {
    return convert_real<T>(s.to_double());
  }
}

// A negative number that fits the signed twin of an unsigned type wraps around, as in the reference.
template <class T>
bool int_fits(int64_t value) {
  using Limits = std::numeric_limits<T>;
  if constexpr (sizeof(T) == 8)
    return true;
  else if constexpr (std::is_unsigned_v<T>)
    return value >= -static_cast<int64_t>(Limits::max()) - 1 && value <= int64_t{Limits::max()};
  else
    return value >= int64_t{Limits::min()} && value <= int64_t{Limits::max()};
}

// Infinities and NaN are numbers of every floating type.
bool real_fits(DType real, double value) { return !(std::abs(value) > largest(real)) || std::isinf(value); }

// Only one of these formats has infinities; that of powers of two has no sign, and its least stands for zero.
bool float8_fits(DType dtype, double value) {
  if (std::isnan(value)) return true;
  if (dtype == stored::Float8_e8m0fnu) return value >= 0 && value <= 0x1p127;
  return std::isinf(value) ? dtype == stored::Float8_e5m2 : real_fits(dtype, value);
}

template <class T>
bool number_fits(const Scalar& s) {
  const Complex128 c = s.to_complex();
  const bool real = !s.is_complex() || c.im == 0;
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (is_complex_type<T>) {
    // A real number becomes an infinity of complex32, as in the reference, unless it is beyond float32 as
    // well.
    constexpr DType own = DTypeOf<decltype(T::re)>::value;
    const DType part = own == DType::Float16 && !s.is_complex() ? DType::Float32 : own;
    return real_fits(part, c.re) && real_fits(part, c.im);
  } else if constexpr (std::is_integral_v<T>) {
    if (s.is_above_int64()) return std::is_same_v<T, uint64_t>;
    if (s.is_integral()) return int_fits<T>(s.to_int());
    const double v = s.to_double();
    return real && v >= static_cast<double>(std::numeric_limits<T>::min()) &&
           v <= static_cast<double>(std::numeric_limits<T>::max());
  } else {
    return real && real_fits(DTypeOf<T>::value, c.re);
  }
}

template <class T>
Scalar load(const T& value) {
  if constexpr (is_complex_type<T>) {
    return Scalar(Complex128{static_cast<double>(value.re), static_cast<double>(value.im)});
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return value >> 63 ? Scalar::above_int64(value) : Scalar(static_cast<int64_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return Scalar(static_cast<int64_t>(value));
  } else {
    return Scalar(static_cast<double>(value));
  }
}
[[noreturn, gnu::cold]] void refuse(const char* what, DType dtype) {
  fail(ErrorKind::Runtime, what, ": elements of the type ", dtype_name(dtype), " are not numbers");
}
}  // namespace

void Scalar::store(DType dtype, void* out) const {
  switch (dtype) {
#define TL_STORE(E, T, name)                   \
  case DType::E:                               \
    *static_cast<T*>(out) = convert<T>(*this); \
    return;
    TL_ALL_DTYPES(TL_STORE)
#undef TL_STORE
  }
#define TL_STORE(E, T) \
  if (dtype == stored::E) return void(*static_cast<T*>(out) = convert<T>(*this));
  TL_FLOAT8_DTYPES(TL_STORE)
#undef TL_STORE
  refuse("store_scalar", dtype);
}

namespace {
// As PyTorch's messages say it.
const char* type_name(DType dtype) {
#define TL_TYPE(E, T, name) \
  if (dtype == DType::E) return is_half(dtype) ? "at::" #T : #T;
  TL_ALL_DTYPES(TL_TYPE)
#undef TL_TYPE
  return dtype_name(dtype);
}
}  // namespace

bool Scalar::fits(DType dtype) const {
  switch (dtype) {
#define TL_FITS(E, T, name) \
  case DType::E:            \
    return number_fits<T>(*this);
    TL_ALL_DTYPES(TL_FITS)
#undef TL_FITS
  }
  const Complex128 c = to_complex();
  return !is_float8(dtype) || (c.im == 0 && float8_fits(dtype, c.re));
}

void Scalar::check_fits(DType dtype) const {
  if (!fits(dtype)) [[unlikely]]
    fail(ErrorKind::Runtime, "value cannot be converted to type ", type_name(dtype), " without overflow");
}

Scalar load_scalar(DType dtype, const void* data) {
  // Memory nobody has written, or written as numbers, holds other bytes than the two a bool has.
  if (dtype == DType::Bool) return Scalar(*static_cast<const uint8_t*>(data) != 0);
  switch (dtype) {
#define TL_LOAD(E, T, name) \
  case DType::E:            \
    return load(*static_cast<const T*>(data));
    TL_ALL_DTYPES(TL_LOAD)
#undef TL_LOAD
  }
#define TL_LOAD(E, T) \
  if (dtype == stored::E) return load(*static_cast<const T*>(data));
  TL_FLOAT8_DTYPES(TL_LOAD)
#undef TL_LOAD
  refuse("load_scalar", dtype);
}

}  // namespace tl

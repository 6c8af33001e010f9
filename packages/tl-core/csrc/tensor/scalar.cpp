#include "tensor/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tl {

namespace {
template <class T>
T convert(const Scalar& s) {
  if constexpr (std::is_same_v<T, bool>)
    return s.to_bool();
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(s.to_int());
  else
    return static_cast<T>(s.to_double());
}

template <class R>
ComplexOf<R> convert_complex(const Scalar& s) {
  const auto c = s.to_complex();
  return {static_cast<R>(static_cast<float>(c.real())), static_cast<R>(static_cast<float>(c.imag()))};
}

template <class T>
bool in_range(const Scalar& s) {
  if (s.is_integral()) {
    if constexpr (std::is_same_v<T, uint64_t>)
      return true;
    else
      return s.to_int() >=
                 static_cast<int64_t>(std::numeric_limits<T>::min()) -
                     (std::is_unsigned_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::max()) + 1 : 0) &&
             s.to_int() <= static_cast<int64_t>(std::numeric_limits<T>::max());
  }
  const double v = s.to_double();
  return v >= static_cast<double>(std::numeric_limits<T>::min()) &&
         v <= static_cast<double>(std::numeric_limits<T>::max());
}
}  // namespace

void Scalar::store(DType dtype, void* out) const {
  switch (dtype) {
    case DType::Complex32:
      *static_cast<Complex32*>(out) = convert_complex<Half>(*this);
      return;
    case DType::Complex64:
      *static_cast<Complex64*>(out) = convert_complex<float>(*this);
      return;
    case DType::Complex128: {
      const auto c = to_complex();
      *static_cast<Complex128*>(out) = {c.real(), c.imag()};
      return;
    }
    case DType::Float16:
      *static_cast<Half*>(out) = Half(static_cast<float>(to_double()));
      return;
    case DType::BFloat16:
      *static_cast<BFloat16*>(out) = BFloat16(static_cast<float>(to_double()));
      return;
#define TL_STORE(E, T)                         \
  case DType::E:                               \
    *static_cast<T*>(out) = convert<T>(*this); \
    return;
      TL_STORE(Bool, bool)
      TL_STORE(UInt8, uint8_t) TL_STORE(Int8, int8_t) TL_STORE(Int16, int16_t) TL_STORE(Int32, int32_t)
          TL_STORE(Int64, int64_t) TL_STORE(UInt16, uint16_t) TL_STORE(UInt32, uint32_t)
              TL_STORE(UInt64, uint64_t) TL_STORE(Float32, float) TL_STORE(Float64, double)
#undef TL_STORE
  }
}

void Scalar::check_fits(DType dtype) const {
  bool ok = true;
  const char* type = "";
  const bool real = !is_complex() || im_ == 0;
  switch (dtype) {
#define TL_RANGE(E, T)               \
  case DType::E:                     \
    ok = real && in_range<T>(*this); \
    type = #T;                       \
    break;
  TL_RANGE(UInt8, uint8_t)
  TL_RANGE(Int8, int8_t) TL_RANGE(Int16, int16_t) TL_RANGE(Int32, int32_t) TL_RANGE(UInt16, uint16_t)
      TL_RANGE(UInt32, uint32_t)
#undef TL_RANGE
          case DType::Int64:
    ok = real && (is_integral() || std::abs(re_) <= 9.3e18);
    type = "int64_t";
    break;
    case DType::UInt64:
      ok = real;
      type = "uint64_t";
      break;
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float32:
    case DType::Float64:
      ok = real;
      type = dtype_name(dtype);
      break;
    default:
      break;
  }
  TL_CHECK(ok, Runtime, "value cannot be converted to type ", type, " without overflow");
}

Scalar load_scalar(DType dtype, const void* p) {
  switch (dtype) {
    case DType::Bool:
      return Scalar(*static_cast<const bool*>(p));
    case DType::Float16:
      return Scalar(static_cast<double>(static_cast<float>(*static_cast<const Half*>(p))));
    case DType::BFloat16:
      return Scalar(static_cast<double>(static_cast<float>(*static_cast<const BFloat16*>(p))));
    case DType::Complex32: {
      const auto& c = *static_cast<const Complex32*>(p);
      return Scalar(std::complex<double>(float(c.re), float(c.im)));
    }
    case DType::Complex64: {
      const auto& c = *static_cast<const Complex64*>(p);
      return Scalar(std::complex<double>(c.re, c.im));
    }
    case DType::Complex128: {
      const auto& c = *static_cast<const Complex128*>(p);
      return Scalar(std::complex<double>(c.re, c.im));
    }
#define TL_LOAD(E, T, As) \
  case DType::E:          \
    return Scalar(static_cast<As>(*static_cast<const T*>(p)));
      TL_LOAD(UInt8, uint8_t, int64_t)
      TL_LOAD(Int8, int8_t, int64_t) TL_LOAD(Int16, int16_t, int64_t) TL_LOAD(Int32, int32_t, int64_t)
          TL_LOAD(Int64, int64_t, int64_t) TL_LOAD(UInt16, uint16_t, int64_t)
              TL_LOAD(UInt32, uint32_t, int64_t) TL_LOAD(UInt64, uint64_t, int64_t)
                  TL_LOAD(Float32, float, double) TL_LOAD(Float64, double, double)
#undef TL_LOAD
  }
  return {};
}

}  // namespace tl

// A number of any kind.
#ifndef TL_TORCH_SCALAR_HPP
#define TL_TORCH_SCALAR_HPP

#include <tl/torch/scalar_type.hpp>

namespace c10 {
TL_FACE {
  class Scalar {
   public:
    Scalar() : Scalar(int64_t(0)) {}
    template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
    Scalar(T v) {
      if constexpr (std::is_same_v<T, bool>) {
        tag_ = TL_BOOL, u_.i = v;
      } else if constexpr (std::is_integral_v<T>) {
        tag_ = TL_INT, u_.i = static_cast<int64_t>(v);
      } else {
        tag_ = TL_FLOAT, u_.f[0] = static_cast<double>(v);
      }
    }
    Scalar(Half v) : Scalar(float(v)) {}
    Scalar(BFloat16 v) : Scalar(float(v)) {}
    template <class T>
    Scalar(std::complex<T> v) : tag_(TL_COMPLEX) {
      u_.f[0] = double(v.real()), u_.f[1] = double(v.imag());
    }
    explicit Scalar(const TlValue& v) : tag_(v.tag) {
      if (v.tag == TL_COMPLEX)
        std::memcpy(u_.f, v.u.p, sizeof u_.f);
      else
        u_.i = v.u.i;  // the bits of a double too
    }
    // Borrows the number.
    TlValue value() const {
      TlValue v;
      v.tag = tag_, v.len = 0;
      if (tag_ == TL_COMPLEX)
        v.u.p = u_.f;
      else
        v.u.i = u_.i;
      return v;
    }

    bool isFloatingPoint() const { return tag_ == TL_FLOAT; }
    bool isComplex() const { return tag_ == TL_COMPLEX; }
    bool isBoolean() const { return tag_ == TL_BOOL; }
    bool isIntegral(bool include_bool) const { return tag_ == TL_INT || (include_bool && isBoolean()); }
    bool isSymbolic() const { return false; }
    ScalarType type() const {
      return isBoolean() ? kBool : tag_ == TL_INT ? kLong : isComplex() ? kComplexDouble : kDouble;
    }
    template <class T>
    T to() const {
      if constexpr (is_complex<T>::value) {
        using R = typename T::value_type;
        return T(narrowed<R>(real()), narrowed<R>(isComplex() ? u_.f[1] : 0.0));
      } else {
        if (isComplex() && u_.f[1] != 0)
          face::fail<Error>("", "value cannot be converted to type ",
                            face::source_name(CppTypeToScalarType<T>::value),
                            " without overflow: it is complex");
        if (tag_ == TL_FLOAT || isComplex()) return narrowed<T>(u_.f[0]);
        return narrowed<T>(u_.i);
      }
    }
#define TL_FACE_TO(T, NAME) \
  T to##NAME() const { return to<T>(); }
    TL_FACE_TO(uint8_t, Byte)
    TL_FACE_TO(int8_t, Char)
    TL_FACE_TO(int16_t, Short)
    TL_FACE_TO(int, Int)
    TL_FACE_TO(int64_t, Long)
    TL_FACE_TO(Half, Half)
    TL_FACE_TO(BFloat16, BFloat16)
    TL_FACE_TO(float, Float)
    TL_FACE_TO(double, Double)
    TL_FACE_TO(bool, Bool)
    TL_FACE_TO(complex<float>, ComplexFloat)
    TL_FACE_TO(complex<double>, ComplexDouble)
#undef TL_FACE_TO
    Scalar operator-() const {
      Scalar s = *this;
      if (tag_ == TL_FLOAT || isComplex())
        s.u_.f[0] = -u_.f[0], s.u_.f[1] = isComplex() ? -u_.f[1] : 0;
      else
        s.u_.i = int64_t(-uint64_t(u_.i));
      return s;
    }
    Scalar conj() const {
      Scalar s = *this;
      if (isComplex()) s.u_.f[1] = -u_.f[1];
      return s;
    }
    Scalar log() const {
      if (isComplex()) return Scalar(std::log(to<std::complex<double>>()));
      return Scalar(std::log(to<double>()));
    }
    // A boolean equals booleans alone.
    template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
    bool equal(T v) const {
      if (isBoolean()) return false;
      if (tag_ != TL_INT) return (!isComplex() || u_.f[1] == 0) && u_.f[0] == double(v);
      if constexpr (std::is_integral_v<T>)
        return (std::is_signed_v<T> || u_.i >= 0) && u_.i == int64_t(v);
      else
        return T(u_.i) == v;
    }
    template <class T, std::enable_if_t<!std::is_arithmetic_v<T>, int> = 0>
    bool equal(T v) const {
      return !isBoolean() && real() == double(v.real()) && (isComplex() ? u_.f[1] : 0) == double(v.imag());
    }
    bool equal(bool v) const { return isBoolean() && (u_.i != 0) == v; }
    int64_t toSymInt() const { return toLong(); }
    friend std::ostream& operator<<(std::ostream& out, const Scalar& s) {
      if (s.isComplex()) return out << s.to<std::complex<double>>();
      if (s.isBoolean()) return out << (s.u_.i ? "true" : "false");
      return s.isFloatingPoint() ? out << s.u_.f[0] : out << s.u_.i;
    }

   private:
    double real() const { return tag_ == TL_FLOAT || isComplex() ? u_.f[0] : double(u_.i); }
    template <class T>
    [[noreturn, gnu::cold]] static void refuse_overflow() {
      face::fail<Error>("", "value cannot be converted to type ",
                        face::source_name(CppTypeToScalarType<T>::value), " without overflow");
    }
    // A finite number must be in the range of the type. Infinities and NaN become floating-point numbers
    // only.
    template <class T, class U>
    static T narrowed(U v) {
      if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double>) {
        return static_cast<T>(v);
      } else if constexpr (!std::is_integral_v<T>) {
        const double size = std::abs(double(v));
        if (size > double(std::numeric_limits<T>::max()) && !std::isinf(size)) refuse_overflow<T>();
        return static_cast<T>(v);
      } else {
        constexpr double low = double(std::numeric_limits<T>::lowest()),
                         high = double(std::numeric_limits<T>::max());
        const double d = double(v);
        const bool wraps =
            std::is_unsigned_v<T> && d < 0 && -d <= high;  // PyTorch lets negative numbers wrap
        if (!wraps && !(d >= low && d <= high)) refuse_overflow<T>();
        if constexpr (std::is_floating_point_v<U>)
          return wraps ? T(int64_t(v)) : d == high && sizeof(T) == 8 ? std::numeric_limits<T>::max() : T(v);
        else
          return T(v);
      }
    }
    uint32_t tag_;
    union {
      int64_t i;
      double f[2];
    } u_ = {0};
  };
}
}  // namespace c10
namespace at {
using Scalar = c10::Scalar;
}

#endif  // TL_TORCH_SCALAR_HPP

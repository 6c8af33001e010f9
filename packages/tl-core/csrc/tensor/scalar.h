// A number a user wrote: bool, int, float or complex, not yet of any dtype.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/error.h"
#include "tl/c_api.h"

namespace tl {

class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  Scalar(bool v) : tag_(TL_BOOL), i_(v) {}
  Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(int64_t v) : tag_(TL_INT), i_(v) {}
  Scalar(double v) : tag_(TL_FLOAT), re_(v) {}
  Scalar(Complex128 v) : tag_(TL_COMPLEX), re_(v.re), im_(v.im) {}

  // Of integers from 2^63 on a value holds the bits, and says so in its length.
  static Scalar above_int64(uint64_t v) {
    Scalar s(static_cast<int64_t>(v));
    s.above_int64_ = true;
    return s;
  }
  static Scalar from(const TlValue& v) {
    switch (v.tag) {
      case TL_BOOL:
        return Scalar(v.u.i != 0);
      case TL_INT:
        return v.len ? above_int64(static_cast<uint64_t>(v.u.i)) : Scalar(v.u.i);
      case TL_FLOAT:
        return Scalar(v.u.f);
      case TL_COMPLEX: {
        const auto* c = static_cast<const double*>(v.u.p);
        return Scalar(Complex128{c[0], c[1]});
      }
      default:
        fail(ErrorKind::Type, "expected a number");
    }
  }
  // Complex numbers point into this scalar, which must outlive the value.
  TlValue value() const {
    TlValue v{static_cast<uint32_t>(tag_), above_int64_, {0}};
    if (tag_ == TL_FLOAT)
      v.u.f = re_;
    else if (tag_ == TL_COMPLEX)
      v.u.p = &re_;
    else
      v.u.i = i_;
    return v;
  }

  bool is_bool() const { return tag_ == TL_BOOL; }
  bool is_int() const { return tag_ == TL_INT; }
  bool is_float() const { return tag_ == TL_FLOAT; }
  bool is_complex() const { return tag_ == TL_COMPLEX; }
  bool is_integral() const { return tag_ <= TL_INT; }

  int64_t to_int() const { return is_integral() ? i_ : static_cast<int64_t>(re_); }
  bool is_above_int64() const { return above_int64_; }
  double to_double() const {
    if (!is_integral()) return re_;
    return above_int64_ ? static_cast<double>(static_cast<uint64_t>(i_)) : static_cast<double>(i_);
  }
  Complex128 to_complex() const { return {to_double(), tag_ == TL_COMPLEX ? im_ : 0.0}; }
  bool to_bool() const { return is_integral() ? i_ != 0 : re_ != 0 || (is_complex() && im_ != 0); }

  // Writes the number as one element of `dtype`.
  void store(DType dtype, void* out) const;
  // Whether the number lies in the range of `dtype`.
  bool fits(DType dtype) const;
  // Raises RuntimeError if it doesn't ("value cannot be converted to type int8_t without overflow").
  void check_fits(DType dtype) const;

 private:
  TlTag tag_;
  bool above_int64_ = false;
  int64_t i_ = 0;
  double re_ = 0, im_ = 0;  // adjacent: a complex TlValue points at re_
};

Scalar load_scalar(DType dtype, const void* data);

}  // namespace tl

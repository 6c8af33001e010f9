// Every rule about element types: promotion, opmath, accumulation and widening.
#pragma once

#include <span>

#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace tl {

DType promote(DType a, DType b);    // raises for pairs without a common type
DType checked_to_complex(DType d);  // raises for what is neither floating nor complex
bool can_cast(DType from, DType to);
const char* scalar_type_name(DType dtype);  // "Float", as PyTorch's messages say
DType scalar_dtype(const Scalar& s);        // bool, int64, the default dtype or its complex twin

// The type in which one element is computed: float for halves.
DType opmath_type(DType dtype);
// The type in which many elements are added up: that, and int64 for integers.
DType accumulate_type(DType dtype);
// The result of a sum or product: int64 for integers and bool, else the type itself.
DType sum_type(DType dtype);
// Integers in int64, complex numbers in complex64 at least: for kernels that have those types only.
DType common_kernel_type(DType dtype);
// float64 or complex128.
DType double_precision(DType dtype);
// The next type to convert to where a kernel has none for this one. Sums, products and quotients of small
// integers wrap alike in wide ones, and a half is computed in float in any case: the results are the same.
DType wider_type(DType dtype);

// How an elementwise operator treats the common type of its operands.
enum class Promote : uint8_t {
  Same,       // the result has the common type
  Float,      // integers compute in the default float
  Int,        // bool computes in int64
  Bool,       // computes in the common type, the result is bool
  Real,       // complex gives real
  RealFloat,  // as well, and integers compute in the default float
  Complex,    // real gives complex
};

// The type of the operands, given their common type.
DType operand_type(Promote rule, DType common);
// The type of the result.
inline DType result_type(Promote rule, DType common) {
  switch (rule) {
    case Promote::Bool:
      return DType::Bool;
    case Promote::Real:
    case Promote::RealFloat:
      return to_real(common);
    case Promote::Complex:
      return to_complex(common);
    default:
      return common;
  }
}

// Tensors with dimensions count most, then tensors without, then scalars: a weaker kind only lifts the
// category.
class Promotion {
 public:
  void add(const Tensor& t) { lift(t.dim() > 0 ? dims_ : zero_, t.dtype()); }
  void add(const Scalar& s) { lift(scalar_, scalar_dtype(s)); }
  // A tensor or a scalar; TL_NONE counts for nothing.
  void add(const TlValue& v) {
    if (v.tag == TL_TENSOR)
      add(reinterpret_cast<const Tensor&>(v.u.t));
    else if (v.tag != TL_NONE)
      add(Scalar::from(v));
  }
  DType result() const;

 private:
  struct Maybe {
    DType dtype = DType::Bool;
    bool defined = false;
  };
  static void lift(Maybe& m, DType d);
  static Maybe combine(Maybe higher, Maybe lower);
  Maybe dims_, zero_, scalar_;
};

// The type in which tensors meet.
DType common_dtype(std::span<const Tensor> tensors);

}  // namespace tl

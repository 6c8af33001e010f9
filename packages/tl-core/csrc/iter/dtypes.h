// Every rule about element types: promotion, opmath and accumulation.
#pragma once

#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace tl {

DType promote(DType a, DType b);  // raises for pairs without a common type
bool can_cast(DType from, DType to);
const char* scalar_type_name(DType dtype);  // "Float", as the reference's messages say
DType scalar_dtype(const Scalar& s);        // bool, int64, the default dtype or its complex twin

// The type in which one element is computed: float for halves.
DType opmath_type(DType dtype);
// The type in which many elements are added up: that, and int64 for integers.
DType accumulate_type(DType dtype);

// Tensors with dimensions count most, then tensors without, then numbers: a weaker kind only lifts the
// category.
class Promotion {
 public:
  void add(const Tensor& t) { lift(t.dim() > 0 ? dims_ : zero_, t.dtype()); }
  void add(const Scalar& s) { lift(number_, scalar_dtype(s)); }
  // A tensor or a number; TL_NONE counts for nothing.
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
  Maybe dims_, zero_, number_;
};

}  // namespace tl

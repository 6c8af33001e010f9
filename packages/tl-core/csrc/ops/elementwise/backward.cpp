// Derivatives that are more than a formula's line.
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"

namespace tl {

namespace {
Tensor sgn_backward(const Tensor& self, const Tensor& g, const Tensor& sgn) {
  if (!is_complex(g.dtype())) return ops::zeros_like(g);
  const Tensor size = ops::abs(self);
  const Tensor along = ops::real(ops::mul(ops::conj_physical(g), sgn));
  const Tensor moved = ops::div(ops::sub(g, ops::mul(along, sgn)), size);
  return ops::where_self(ops::eq(size, Scalar(0.0)), Scalar(0.0), moved);
}

Tensor conj(const Tensor& t) { return is_complex(t.dtype()) ? ops::conj_physical(t) : t; }

bool is_number_equal(const Operand& o, double value) {
  return !o.is_tensor() && !o.scalar().is_complex() && o.scalar().to_double() == value;
}

// d/dx x**y = y x**(y-1), and zero where y is zero, also at x = 0.
Tensor pow_backward(const Tensor& g, const Tensor& self, const Operand& exponent) {
  if (is_number_equal(exponent, 0)) return ops::zeros_like(self);
  if (!exponent.is_tensor()) {
    const Scalar e = exponent.scalar();
    const bool exact = e.is_integral() && !e.is_above_int64() && e.to_int() != INT64_MIN;
    const Scalar less = e.is_complex() ? Scalar(Complex128{e.to_complex().re - 1, e.to_complex().im})
                        : exact        ? Scalar(e.to_int() - 1)
                                       : Scalar(e.to_double() - 1);
    // Of a square, the other factor is the base.
    const bool is_base = exact && less.to_int() == 1 && is_floating(self.dtype());
    return ops::mul(g, conj(ops::mul(is_base ? self : ops::pow_Tensor_Tensor(self, less), e)));
  }
  const Tensor& e = exponent.tensor();
  const Tensor derivative = ops::mul(e, ops::pow_Tensor_Tensor(self, ops::sub(e, Scalar(1))));
  return ops::where_self(ops::eq(e, Scalar(0)), Scalar(0.0), ops::mul(g, conj(derivative)));
}

// That of a negative number is complex where the power is.
Tensor logarithm(const Tensor& base, const Tensor& power) {
  const bool widens = is_complex(power.dtype()) && !is_complex(base.dtype());
  return ops::log(widens ? to_dtype(base, power.dtype()) : base);
}

// d/dy x**y = x**y log x, and zero at x = 0 for y >= 0.
Tensor pow_backward_exponent(const Tensor& g, const Operand& self, const Tensor& exponent,
                             const Tensor& result) {
  const Tensor real_exponent = is_complex(exponent.dtype()) ? ops::real(exponent) : exponent;
  const Tensor still = ops::ge(real_exponent, Scalar(0));
  if (!self.is_tensor()) {
    const Tensor base =
        ops::scalar_tensor(self.scalar(), {.dtype = promote(scalar_dtype(self.scalar()), result.dtype())});
    const Tensor derivative = ops::mul(g, conj(ops::mul(result, logarithm(base, result))));
    return is_number_equal(self, 0) ? ops::where_self(still, Scalar(0.0), derivative) : derivative;
  }
  const Tensor& base = self.tensor();
  const Tensor derivative = ops::mul(g, conj(ops::mul(result, logarithm(base, result))));
  return ops::where_self(ops::logical_and(ops::eq(base, Scalar(0)), still), Scalar(0.0), derivative);
}
}  // namespace

TL_KERNEL(sgn_backward, sgn_backward)
TL_KERNEL(pow_backward, pow_backward)
TL_KERNEL(pow_backward_exponent, pow_backward_exponent)

}  // namespace tl

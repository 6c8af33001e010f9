// Slices with a bounded norm.
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/differentiated.h"
#include "ops/shared/out.h"
#include "tensor/geometry.h"

namespace tl {

namespace {

void check_renorm(const Tensor& self, const Scalar& p, const Scalar& maxnorm) {
  TL_CHECK(!p.is_complex(), Runtime, "renorm: p must be real-valued");
  TL_CHECK(p.to_double() > 0, Runtime, "renorm: non-positive-norm not supported, got p=", p.to_double());
  TL_CHECK(!maxnorm.is_complex(), Runtime, "renorm: maxnorm must be real-valued");
  TL_CHECK(maxnorm.to_double() >= 0, Runtime, "renorm: expected maxnorm to be >= 0 but got ",
           maxnorm.to_double());
  TL_CHECK(self.dim() > 1, Runtime, "renorm: input needs at least 2 dimensions, got ", self.dim(),
           " dimensions");
}

// The small number keeps the norm of what was scaled from exceeding the bound by rounding.
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm, Out out) {
  check_renorm(self, p, maxnorm);
  const int64_t own = wrap_dim(dim, self.dim());
  DimVector others;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != own) others.push_back(d);
  const DType real = to_real(self.dtype());
  const std::optional<DType> computes_in =
      is_half(self.dtype()) ? std::optional(DType::Float32) : std::nullopt;
  // The derivative reads the input, which the output may overwrite.
  const Tensor input = out && is_differentiated(self) ? isolate(self, *out.tensor) : self;
  const Tensor norms = ops::linalg_vector_norm(input, p, IntSpan(others), true, computes_in);
  const Tensor shrunk = ops::div(Scalar(maxnorm.to_double()), ops::add(norms, Scalar(1e-7)));
  const Tensor factors = ops::where_self(ops::gt(norms, maxnorm), shrunk, Scalar(1.0));
  const Tensor result = ops::mul(input, ops::to_dtype(factors, real));
  return out ? ops::copy_(prepare_out(out, result.sizes(), {result.dtype(), result.device()}), result)
             : result;
}
}  // namespace

TL_KERNEL(renorm, renorm)

}  // namespace tl

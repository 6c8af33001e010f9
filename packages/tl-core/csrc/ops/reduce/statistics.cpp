// Covariances and correlations of variables, one a row; made of other operators.
#include <algorithm>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/elements.h"
#include "ops/shared/warn.h"

namespace tl {

namespace {
bool is_true(const Tensor& t) {
  return *elements_of<bool>("cov", ops::to_device(t, Device{DeviceType::CPU}), 1);
}

// ---- weights of observations -----------------------------------------------------------------------------
void check_weights(const char* name, const Tensor& weights, int64_t observations, bool frequencies) {
  TL_CHECK(weights.dim() <= 1, Runtime, "cov(): expected ", name, " to have one or fewer dimensions but got ",
           name, " with ", weights.dim(), " dimensions");
  TL_CHECK(is_floating(weights.dtype()) != frequencies, Runtime, "cov(): expected ", name, " to have ",
           frequencies ? "integral" : "floating point", " dtype but got ", name, " with ",
           scalar_type_name(weights.dtype()), " dtype");
  TL_CHECK(weights.numel() == observations, Runtime, "cov(): expected ", name,
           " to have the same numel as there are observations in the input but got ", weights.numel(),
           " != ", observations);
  TL_CHECK(!is_true(ops::any(ops::lt(weights, Scalar(0)))), Runtime, "cov(): ", name, " cannot be negative");
}

Tensor weights_of(int64_t observations, OptTensor fweights, OptTensor aweights) {
  if (fweights) check_weights("fweights", *fweights, observations, true);
  if (aweights) check_weights("aweights", *aweights, observations, false);
  if (!fweights) return aweights ? *aweights : Tensor();
  return aweights ? ops::mul(*fweights, *aweights) : *fweights;
}

void warn_no_freedom(bool none) {
  if (none)
    warn(
        "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
        "observations.");
}

// What divides the sums of products, at least 0.
Tensor freedom(const Tensor& total, const Tensor& weights, OptTensor aweights, int64_t correction) {
  Tensor free = ops::sub(total, Scalar(correction));
  if (aweights && correction != 0) {
    const Tensor squares = ops::sum(ops::mul(weights, *aweights));
    free = ops::sub(total, ops::div(ops::mul(squares, Scalar(correction)), total));
  }
  warn_no_freedom(is_true(ops::le(free, Scalar(0))));
  const Tensor none = ops::mul(free, Scalar(0));
  return is_true(ops::gt(none, free)) ? none : free;
}

Tensor products_over(const Tensor& x, const Tensor& weighted, const Operand& free) {
  const Tensor products = ops::matmul(x, ops::t(ops::conj(weighted)));
  return ops::squeeze(ops::div(products, free));
}

Tensor cov(const Tensor& self, int64_t correction, OptTensor fweights, OptTensor aweights) {
  TL_CHECK(self.dim() <= 2, Runtime,
           "cov(): expected input to have two or fewer dimensions but got an input with ", self.dim(),
           " dimensions");
  TL_CHECK(self.dtype() != DType::Bool, Runtime, "cov(): bool dtype is not supported for input");
  const Tensor x = self.dim() == 2 ? self : ops::reshape(self, DimVector{1, -1});
  const int64_t observations = x.size(1);
  const Tensor weights = weights_of(observations, fweights, aweights);
  if (!weights) {
    const int64_t free = observations - correction;
    warn_no_freedom(free <= 0);
    const Tensor sums = ops::sum_dim_IntList(x, DimVector{1}, true);
    const Tensor centred = ops::sub(x, ops::div(sums, Scalar(observations)));
    return products_over(centred, centred, Scalar(std::max<int64_t>(free, 0)));
  }
  const Tensor total = ops::sum(weights);
  TL_CHECK(!is_true(ops::eq(total, Scalar(0))), Runtime, "cov(): weights sum to zero, can't be normalized");
  const Tensor free = freedom(total, weights, aweights, correction);
  const Tensor sums = ops::sum_dim_IntList(ops::mul(x, weights), DimVector{1}, true);
  const Tensor centred = ops::sub(x, ops::div(sums, total));
  return products_over(centred, ops::mul(centred, weights), free);
}

Tensor within_one(const Tensor& t) { return ops::clamp(t, Scalar(-1), Scalar(1)); }

Tensor corrcoef(const Tensor& self) {
  const Tensor c = ops::cov(self);
  if (c.dim() == 0) return ops::div(c, c);
  const Tensor deviations = ops::sqrt(ops::real(ops::diagonal(c)));
  const Tensor r = ops::div(ops::div(c, ops::unsqueeze(deviations, 1)), deviations);
  if (!is_complex(r.dtype())) return within_one(r);
  return ops::complex(within_one(ops::real(r)), within_one(ops::imag(r)));
}
}  // namespace

TL_KERNEL(cov, cov)
TL_KERNEL(corrcoef, corrcoef)

}  // namespace tl

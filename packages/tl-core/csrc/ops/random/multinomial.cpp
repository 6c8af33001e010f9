// Multinomial sampling: inversion of the cumulative sums, or exponential races without replacement.
#include <cmath>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
void check_weights(const Tensor& self, int64_t n, bool replacement) {
  TL_CHECK(
      is_floating(self.dtype()), Runtime,
      "multinomial only supports floating-point dtypes for input, got: ", scalar_type_name(self.dtype()));
  TL_CHECK(self.dim() == 1 || self.dim() == 2, Runtime, "prob_dist must be 1 or 2 dim, got ", self.dim());
  TL_CHECK(n > 0, Runtime, "cannot sample n_sample <= 0 samples, got ", n);
  TL_CHECK(replacement || n <= self.size(self.dim() - 1), Runtime,
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement: ", n, " > ",
           self.size(self.dim() - 1));
  TL_CHECK(self.size(self.dim() - 1) <= (int64_t{1} << 24), Runtime,
           "number of categories cannot exceed 2^24, got ", self.size(self.dim() - 1));
  if (self.is_meta() || self.numel() == 0) return;
  const auto holds = [](const Tensor& flags) { return ops::_local_scalar_dense(ops::all(flags)).to_bool(); };
  const auto [least, most] = ops::aminmax(self);  // a NaN is both
  TL_CHECK(holds(ops::logical_and(ops::ge(least, Scalar(0)), ops::lt(most, Scalar(INFINITY)))), Runtime,
           replacement ? "invalid multinomial distribution: " : "",
           "probability tensor contains either `inf`, `nan` or "
           "element < 0");
  TL_CHECK(holds(ops::gt(ops::sum_dim_IntList(self, DimVector{-1}), Scalar(0))), Runtime,
           "invalid multinomial distribution (sum of probabilities <= 0)");
}

// With replacement: uniform numbers looked up in the running sums.
Tensor looked_up(const Tensor& self, int64_t n, Generator* generator) {
  DimVector shape(self.sizes());
  shape.back() = n;
  const Tensor sums = ops::cumsum(self, -1, DType::Float64);
  const Tensor totals = ops::slice(sums, -1, self.size(self.dim() - 1) - 1, std::nullopt, 1);
  const Tensor samples = ops::uniform_(empty(shape, {DType::Float64, self.device()}), 0, 1, generator);
  return ops::clamp(ops::searchsorted(sums, ops::mul(samples, totals)), std::nullopt,
                    Scalar(self.size(self.dim() - 1) - 1));
}

// Without: a race of exponential clocks.
Tensor raced(const Tensor& self, int64_t n, Generator* generator) {
  const Tensor clocks = ops::exponential_(ops::empty_like(self), 1, generator);
  const Tensor order = ops::div(self, clocks);
  return n == 1 ? ops::argmax(order, -1, true) : std::get<1>(ops::topk(order, n));
}

Tensor multinomial(const Tensor& self, int64_t n, bool replacement, Generator* generator, Out out) {
  check_weights(self, n, replacement);
  if (out)
    TL_CHECK(out.tensor->dtype() == DType::Int64, Runtime,
             "multinomial expects Long tensor out, got: ", scalar_type_name(out.tensor->dtype()));
  DimVector shape(self.sizes());
  shape.back() = n;
  const Tensor result = prepare_out(out, shape, {DType::Int64, self.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  const Tensor drawn = replacement && n > 1 ? looked_up(self, n, generator) : raced(self, n, generator);
  return ops::copy_(result, drawn);
}
}  // namespace

TL_KERNEL(multinomial, multinomial)

}  // namespace tl

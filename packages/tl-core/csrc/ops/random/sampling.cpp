// Samples of distributions whose parameters are tensors.
#include <cmath>
#include <limits>
#include <mutex>

#include "iter/dtypes.h"
#include "kernels/cpu/random/rejection.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "tensor/geometry.h"

namespace tl {

namespace {

void check_implemented(const char* what, bool implemented, const Tensor& t) {
  TL_CHECK(implemented, NotImplemented, "\"", what, "\" not implemented for '", scalar_type_name(t.dtype()),
           "'");
}
bool is_float_or_double(const Tensor& t) {
  return t.dtype() == DType::Float32 || t.dtype() == DType::Float64;
}

Tensor as_doubles(const Tensor& t) { return to_dtype(to_contiguous(t), DType::Float64); }

// draw(generator, doubles) under the generator's lock.
template <class Draw>
Tensor doubles(IntSpan sizes, Generator* generator, Draw draw) {
  const Tensor result = empty(sizes, {DType::Float64});
  Generator& g = generator ? *generator : default_generator();
  const std::lock_guard lock(g.mutex);
  draw(g, result.ptr<double>());
  return result;
}

bool is_left_empty(const Tensor& t) { return t.is_meta() || t.numel() == 0; }

Tensor fresh_like(const Tensor& t) { return empty(t.sizes(), {t.dtype(), t.device()}); }

// ---- counts -----------------------------------------------------------------------------------------------

Tensor poisson(const Tensor& self, Generator* generator) {
  check_implemented("poisson_cpu", is_floating(self.dtype()), self);
  if (is_left_empty(self)) return fresh_like(self);
  const Tensor rates = as_doubles(self);
  const double* p = rates.ptr<double>();
  TL_CHECK(std::all_of(p, p + rates.numel(), [](double rate) { return rate >= 0; }), Runtime,
           "invalid Poisson rate, expected rate to be non-negative");
  const Tensor drawn = doubles(self.sizes(), generator, [&](Generator& g, double* out) {
    cpu::draw_poisson(p, rates.numel(), g, out);
  });
  return to_dtype(drawn, self.dtype());
}

void check_floating(const char* name, const Tensor& t) {
  TL_CHECK(is_floating(t.dtype()), Value, "binomial only supports floating-point dtypes for ", name,
           ", got: ", scalar_type_name(t.dtype()));
}

Tensor binomial(const Tensor& count, const Tensor& prob, Generator* generator) {
  check_floating("count", count);
  check_floating("prob", prob);
  TL_CHECK(count.dtype() == prob.dtype(), Runtime, "Found dtype ", scalar_type_name(prob.dtype()),
           " but expected ", scalar_type_name(count.dtype()), ": binomial needs count and prob of one dtype");
  const DimVector sizes = broadcast_shapes(count.sizes(), prob.sizes());
  const Tensor result = empty(sizes, {count.dtype(), count.device()});
  if (is_left_empty(result)) return result;
  const Tensor counts = as_doubles(ops::expand(count, sizes)), chances = as_doubles(ops::expand(prob, sizes));
  const Tensor drawn = doubles(sizes, generator, [&](Generator& g, double* out) {
    cpu::draw_binomial(counts.ptr<double>(), chances.ptr<double>(), counts.numel(), g, out);
  });
  return to_dtype(drawn, count.dtype());
}

// ---- gamma ------------------------------------------------------------------------------------------------

double least_normal(const Tensor& t) {
  return t.dtype() == DType::Float32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
}
double last_below_one(const Tensor& t) {
  return t.dtype() == DType::Float32 ? std::nextafter(1.0f, 0.0f) : std::nextafter(1.0, 0.0);
}

Tensor gamma_doubles(const Tensor& shape, double least, Generator* generator) {
  const Tensor shapes = as_doubles(shape);
  return doubles(shape.sizes(), generator, [&](Generator& g, double* out) {
    cpu::draw_gamma(shapes.ptr<double>(), shapes.numel(), least, g, out);
  });
}

Tensor standard_gamma(const Tensor& self, Generator* generator) {
  check_implemented("gamma_cpu", is_float_or_double(self), self);
  if (is_left_empty(self)) return fresh_like(self);
  return to_dtype(gamma_doubles(self, least_normal(self), generator), self.dtype());
}

// Gamma variates divided by their sum (Devroye 1986, chapter XI.4), inside the open interval (0, 1).
Tensor sample_dirichlet(const Tensor& self, Generator* generator) {
  check_implemented("dirichlet", is_float_or_double(self), self);
  if (is_left_empty(self)) return fresh_like(self);
  const Tensor parts = gamma_doubles(self, std::numeric_limits<double>::min(), generator);
  const Tensor shares = ops::div(parts, ops::sum_dim_IntList(parts, DimVector{-1}, true));
  return to_dtype(ops::clamp(shares, Scalar(least_normal(self)), Scalar(last_below_one(self))), self.dtype());
}

}  // namespace

TL_KERNEL(poisson, poisson)
TL_KERNEL(binomial, binomial)
TL_KERNEL(_standard_gamma, standard_gamma)
TL_KERNEL(_sample_dirichlet, sample_dirichlet)

}  // namespace tl

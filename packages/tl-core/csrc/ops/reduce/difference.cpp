// Differences of neighbours, and areas under them.
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
Tensor part(const Tensor& t, int64_t d, int64_t begin, int64_t end) {
  return ops::slice(t, d, begin, end, 1);
}

Tensor with_ends(const Tensor& self, int64_t d, OptTensor before, OptTensor behind) {
  std::vector<Tensor> parts;
  const auto add = [&](const Tensor& t) {
    TL_CHECK(t.dim() == self.dim(), Runtime,
             "diff expects prepend or append to be the same dimension as input, but got ", t.dim(), " and ",
             self.dim(), " dimensions");
    for (int64_t k = 0; k < t.dim(); ++k)
      TL_CHECK(k == d || t.size(k) == self.size(k), Runtime,
               "diff expects the shape of tensor to prepend or append "
               "to match that of input except along the differencing dimension; input.size(",
               k, ") = ", self.size(k), ", but got tensor.size(", k, ") = ", t.size(k));
    parts.push_back(t);
  };
  if (before) add(*before);
  parts.push_back(self);
  if (behind) add(*behind);
  return parts.size() == 1 ? self : ops::cat(parts, d);
}

Tensor diff(const Tensor& self, int64_t n, int64_t dim, OptTensor prepend, OptTensor append, Out out) {
  TL_CHECK(self.dim() >= 1, Runtime, "diff expects input to be at least one-dimensional");
  TL_CHECK(n >= 0, Runtime, "order must be non-negative but got ", n);
  const int64_t d = wrap_dim(dim, self.dim());
  Tensor t = with_ends(self, d, prepend, append);
  const int64_t size = t.size(d);
  if (n >= size) t = part(t, d, 0, 0), n = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Tensor behind = part(t, d, 1, size - i), before = part(t, d, 0, size - i - 1);
    t = t.dtype() == DType::Bool ? ops::logical_xor(behind, before) : ops::sub(behind, before);
  }
  if (out) return ops::copy_(prepare_out(out, t.sizes(), {out.tensor->dtype(), t.device()}), t);
  return n == 0 ? ops::clone(t) : t;
}

// ---- areas of trapezoids ----------------------------------------------------------------------------------

Tensor neighbours(const Tensor& y, int64_t d) {
  return ops::add(part(y, d, 0, y.size(d) - 1), part(y, d, 1, y.size(d)));
}

// The distances of the sample points x, in the shape of y's neighbours.
Tensor distances(const char* name, const Tensor& y, const Tensor& x, int64_t d) {
  Tensor samples = x;
  if (x.dim() == 1) {
    TL_CHECK(x.size(0) == y.size(d), Runtime, name,
             "(): There must be one `x` value for each sample point, got ", x.size(0), " for ", y.size(d));
    DimVector shape(static_cast<size_t>(y.dim()), 1);
    shape[d] = x.size(0);
    samples = ops::reshape(x, shape);
  } else {
    while (samples.dim() < y.dim()) samples = ops::unsqueeze(samples, 0);
    TL_CHECK(samples.size(d) == y.size(d), Runtime, name,
             "(): There must be one `x` value for each sample point, got ", samples.size(d), " for ",
             y.size(d));
  }
  return ops::sub(part(samples, d, 1, samples.size(d)), part(samples, d, 0, samples.size(d) - 1));
}

void check_samples(const char* name, const Tensor& y, const Tensor& x) {
  TL_CHECK(y.dtype() != DType::Bool && x.dtype() != DType::Bool, Runtime, name,
           ": received a bool input for `x` or `y`, but bool is not supported");
}

Tensor none_of(const Tensor& y, int64_t d, bool keep) {
  DimVector shape(y.sizes());
  if (keep)
    shape[d] = 0;
  else
    shape = [&] {
      DimVector rest;
      for (int64_t k = 0; k < y.dim(); ++k)
        if (k != d) rest.push_back(y.size(k));
      return rest;
    }();
  return ops::zeros(shape, {.dtype = y.dtype(), .device = y.device()});
}

void check_distance(const char* name, const Tensor& y, const Scalar& dx) {
  TL_CHECK(y.dtype() != DType::Bool && !dx.is_bool(), Runtime, name,
           ": received a bool input for `y` or `dx`, but bool is not supported");
  TL_CHECK(!dx.is_complex(), Runtime, name, ": Currently, we only support dx as a real number.");
}

Tensor trapezoid_at(const Tensor& y, const Tensor& x, int64_t dim) {
  const int64_t d = wrap_dim(dim, y.dim(), false);
  if (y.size(d) == 0) return none_of(y, d, false);
  check_samples("trapezoid", y, x);
  const Tensor area = ops::mul(neighbours(y, d), distances("trapezoid", y, x, d));
  return ops::div(ops::sum_dim_IntList(area, DimVector{d}), Scalar(2));
}
Tensor trapezoid_step(const Tensor& y, const Scalar& dx, int64_t dim) {
  const int64_t d = wrap_dim(dim, y.dim(), false);
  if (y.size(d) == 0) return none_of(y, d, false);
  check_distance("trapezoid", y, dx);
  // Each sample is a side of two trapezoids, but for the ends.
  const Tensor sum = ops::sum_dim_IntList(y, DimVector{d});
  const Tensor ends = ops::add(ops::select_int(y, d, 0), ops::select_int(y, d, -1));
  return ops::mul(ops::sub(sum, ops::mul(ends, Scalar(0.5))), dx);
}
Tensor trapz_step(const Tensor& y, double dx, int64_t dim) { return trapezoid_step(y, Scalar(dx), dim); }

Tensor cumulative_at(const Tensor& y, const Tensor& x, int64_t dim) {
  const int64_t d = wrap_dim(dim, y.dim(), false);
  check_samples("cumulative_trapezoid", y, x);
  const Tensor area = ops::mul(neighbours(y, d), distances("cumulative_trapezoid", y, x, d));
  return ops::div(ops::cumsum(area, d), Scalar(2));
}
Tensor cumulative_step(const Tensor& y, const Scalar& dx, int64_t dim) {
  const int64_t d = wrap_dim(dim, y.dim(), false);
  check_distance("cumulative_trapezoid", y, dx);
  return ops::mul(ops::cumsum(neighbours(y, d), d), Scalar(dx.to_double() / 2));
}
}  // namespace

TL_KERNEL(diff, diff)
TL_KERNEL(trapezoid_x, trapezoid_at)
TL_KERNEL(trapezoid_dx, trapezoid_step)
TL_KERNEL(trapz_x, trapezoid_at)
TL_KERNEL(trapz_dx, trapz_step)
TL_KERNEL(cumulative_trapezoid_x, cumulative_at)
TL_KERNEL(cumulative_trapezoid_dx, cumulative_step)

}  // namespace tl

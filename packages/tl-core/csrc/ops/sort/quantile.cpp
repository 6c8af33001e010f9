// Quantiles: ranks between the elements of a sorted line.
#include <cmath>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using OptDim = std::optional<int64_t>;

void check_quantile(const std::string& name, const Tensor& self, const Tensor& q, std::string_view how) {
  TL_CHECK(self.numel() > 0, Runtime, name, "() input tensor must be non-empty");
  TL_CHECK(q.dim() <= 1, Runtime, name, "() q must be a scalar or 1D tensor, but got ", q.dim(), "D");
  TL_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, Runtime, name,
           "() input tensor must be either float or double dtype");
  TL_CHECK(self.dtype() == q.dtype(), Runtime, name, "() q tensor must be same dtype as the input tensor");
  TL_CHECK(how == "linear" || how == "lower" || how == "higher" || how == "midpoint" || how == "nearest",
           Runtime, name,
           "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", how);
  if (!has_known_values(q)) return;
  const Tensor inside = ops::logical_and(ops::ge(q, Scalar(0)), ops::le(q, Scalar(1)));
  TL_CHECK(ops::_local_scalar_dense(ops::all(inside)).to_bool(), Runtime, name,
           "() q values must be in the range [0, 1]");
}

// The wanted dimension as the last one, sorted.
Tensor sorted_last(const Tensor& self, OptDim dim) {
  if (!dim) return std::get<0>(ops::sort(ops::reshape(self, DimVector{-1}), 0));
  return std::get<0>(ops::sort(ops::transpose_int(ops::unsqueeze(self, -1), *dim, -1), -1));
}

Tensor ranks_of(const Tensor& sorted, const Tensor& q, bool ignore_nan) {
  const int64_t last = sorted.size(sorted.dim() - 1) - 1;
  const Tensor nans = ops::isnan(sorted);
  const DimVector line{-1};
  if (ignore_nan) {
    const Tensor top = ops::sub(ops::sum_dim_IntList(ops::logical_not(nans), IntSpan(line), true), Scalar(1));
    const Tensor ranks = ops::mul(q, top);
    return ops::masked_fill_Scalar(ranks, ops::lt(ranks, Scalar(0)), Scalar(0));
  }
  // A NaN is the last element: the rank that leads there.
  DimVector shape(sorted.sizes());
  shape.back() = q.numel();
  const Tensor ranks = ops::expand(ops::mul(q, Scalar(last)), shape);
  return ops::masked_fill_Scalar(ranks, ops::any_dim(nans, -1, true), Scalar(last));
}

// Halves go to the even neighbour.
Tensor nearest(const Tensor& ranks) {
  const Tensor below = ops::floor(ranks), rest = ops::sub(ranks, below);
  const Tensor odd = ops::ne(ops::remainder(below, Scalar(2)), Scalar(0));
  const Tensor up =
      ops::logical_or(ops::gt(rest, Scalar(0.5)), ops::logical_and(ops::eq(rest, Scalar(0.5)), odd));
  return ops::add(below, up);
}

Tensor interpolated(const Tensor& sorted, const Tensor& ranks, std::string_view how) {
  const auto read = [&](const Tensor& at) {
    return ops::gather(sorted, -1, ops::to_dtype(at, DType::Int64));
  };
  if (how == "lower") return read(ops::floor(ranks));
  if (how == "higher") return read(ops::ceil(ranks));
  if (how == "nearest") return read(nearest(ranks));
  const Tensor below = ops::floor(ranks), low = read(below), high = read(ops::ceil(ranks));
  const Tensor weight = how == "midpoint" ? ops::full_like(ranks, Scalar(0.5)) : ops::sub(ranks, below);
  return ops::add(low, ops::mul(weight, ops::sub(high, low)));
}

Tensor quantile_of(const char* name, const Tensor& self, const Tensor& q, OptDim dim, bool keepdim,
                   std::string_view how, bool ignore_nan, Out out) {
  check_quantile(name, self, q, how);
  OptDim d = dim;
  if (d) d = wrap_dim(*d, self.dim());
  const Tensor sorted = sorted_last(self, d);
  Tensor values = interpolated(sorted, ranks_of(sorted, ops::reshape(q, DimVector{-1}), ignore_nan), how);
  // The quantiles stand last; in the dimension's place there is one element, but where all dimensions are
  // one.
  if (!d) {
    DimVector ones(static_cast<size_t>(keepdim ? self.dim() : 0), 1);
    ones.push_back(q.numel());
    values = ops::reshape(values, ones);
  } else if (!keepdim) {
    values = ops::squeeze_dim(values, self.dim() ? *d : 0);
  }
  if (q.dim() == 0) {
    values = ops::squeeze_dim(values, -1);
  } else {
    DimVector order{values.dim() - 1};
    for (int64_t k = 0; k + 1 < values.dim(); ++k) order.push_back(k);
    values = ops::permute(values, order);
  }
  if (!out) return values;
  TL_CHECK(out.tensor->dtype() == self.dtype(), Runtime, name,
           "() out tensor must be same dtype as the input tensor");
  return ops::copy_(prepare_out(out, values.sizes(), {self.dtype(), self.device()}), values);
}

Tensor quantile(const Tensor& self, const Tensor& q, OptDim dim, bool keepdim, std::string_view how,
                Out out) {
  return quantile_of("quantile", self, q, dim, keepdim, how, false, out);
}
Tensor nanquantile(const Tensor& self, const Tensor& q, OptDim dim, bool keepdim, std::string_view how,
                   Out out) {
  return quantile_of("nanquantile", self, q, dim, keepdim, how, true, out);
}
Tensor number(const char* name, const Tensor& self, double q) {
  TL_CHECK(q >= 0 && q <= 1, Runtime, name, "() q must be in the range [0, 1] but got ", q);
  return ops::full(IntSpan{}, Scalar(q), {.dtype = self.dtype(), .device = self.device()});
}
Tensor quantile_number(const Tensor& self, double q, OptDim dim, bool keepdim, std::string_view how,
                       Out out) {
  return quantile(self, number("quantile", self, q), dim, keepdim, how, out);
}
Tensor nanquantile_number(const Tensor& self, double q, OptDim dim, bool keepdim, std::string_view how,
                          Out out) {
  return nanquantile(self, number("nanquantile", self, q), dim, keepdim, how, out);
}
}  // namespace

TL_KERNEL(quantile, quantile)
TL_KERNEL(nanquantile, nanquantile)
TL_KERNEL(quantile_scalar, quantile_number)
TL_KERNEL(nanquantile_scalar, nanquantile_number)

}  // namespace tl

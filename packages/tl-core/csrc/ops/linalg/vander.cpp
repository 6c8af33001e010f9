// Vandermonde matrices: columns of powers by one cumulative product.
#include "iter/dtypes.h"
#include "ops.h"

namespace tl {

namespace {
Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  TL_CHECK(x.dim() == 1, Runtime, "x must be a one-dimensional tensor, got ", x.dim(), " dimensions");
  const int64_t columns = n.value_or(x.size(0));
  TL_CHECK(columns >= 0, Runtime, "N must be non-negative, got ", columns);
  const Tensor wide = ops::to_dtype(x, promote(x.dtype(), DType::Int64));
  const DimVector first{x.size(0), std::min<int64_t>(columns, 1)};
  const DimVector rest{x.size(0), std::max<int64_t>(columns - 1, 0)};
  const Tensor ones = ops::ones(first, {.dtype = wide.dtype(), .device = wide.device()});
  const Tensor parts[] = {ones, ops::expand(ops::unsqueeze(wide, -1), rest)};
  const Tensor powers = ops::cumprod(ops::cat(parts, 1), 1);
  return increasing ? powers : ops::flip(powers, DimVector{1});
}
}  // namespace

TL_KERNEL(vander, vander)

}  // namespace tl

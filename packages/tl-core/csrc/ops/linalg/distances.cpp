// Distances and similarities of vectors, and norms that leave a dimension out; made of other operators.
#include <algorithm>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// ---- pairs -----------------------------------------------------------------------------------------------
Tensor at_least(const Tensor& length, double eps) {
  return ops::where_self(ops::gt(length, Scalar(eps)), length, Scalar(eps));
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const DType dtype = promote(x1.dtype(), x2.dtype());
  TL_CHECK(is_floating(dtype), Runtime, "expected common dtype to be floating point, yet common dtype is ",
           scalar_type_name(dtype));
  TL_CHECK(eps >= 0, Runtime, "eps must be non-negative, got: ", eps);
  const std::vector<Tensor> both =
      ops::broadcast_tensors(std::vector<Tensor>{ops::to_dtype(x1, dtype), ops::to_dtype(x2, dtype)});
  const DimVector dims{dim};
  // In separate statements, because the order of calls decides the order in which gradients are added.
  const Tensor length1 = ops::linalg_vector_norm(both[0], Scalar(2), dims, true);
  const Tensor length2 = ops::linalg_vector_norm(both[1], Scalar(2), dims, true);
  const Tensor direction1 = ops::div(both[0], at_least(length1, eps));
  const Tensor direction2 = ops::div(both[1], at_least(length2, eps));
  return ops::sum_dim_IntList(ops::mul(direction1, direction2), dims);
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const Tensor difference = ops::add(ops::sub(x1, x2), Scalar(eps));
  return ops::linalg_vector_norm(difference, Scalar(p), DimVector{-1}, keepdim);
}

// ---- all pairs -------------------------------------------------------------------------------------------
// Up to which number of vectors they are compared one by one, unless a call asks for products.
constexpr int64_t kFew = 25;
enum ComputeMode : int64_t { kByNumber, kProducts, kNoProducts };

void check_vectors(const char* name, const Tensor& x) {
  TL_CHECK(is_floating(x.dtype()), Runtime, "cdist only supports floating-point dtypes, ", name,
           " got: ", scalar_type_name(x.dtype()));
  TL_CHECK(x.dim() >= 2, Runtime, "cdist only supports at least 2D tensors, ", name, " got: ", x.dim(), "D");
}

int64_t rows(const Tensor& x) { return x.size(x.dim() - 2); }

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  const int64_t mode = compute_mode.value_or(kByNumber);
  TL_CHECK(mode >= kByNumber && mode <= kNoProducts, Runtime, "cdist(): compute_mode must be 0, 1 or 2, got ",
           mode);
  check_vectors("X1", x1);
  check_vectors("X2", x2);
  TL_CHECK(x1.sizes().back() == x2.sizes().back(), Runtime,
           "X1 and X2 must have the same number of columns. X1: ", x1.sizes().back(),
           " X2: ", x2.sizes().back());
  TL_CHECK(p >= 0, Runtime, "cdist only supports non-negative p values");
  const bool mixed = x1.dtype() != x2.dtype();
  const DType dtype = mixed ? promote(x1.dtype(), x2.dtype()) : x1.dtype();
  // A trace holds for all sizes, so it takes the formula that is exact for few vectors.
  const bool many = !is_hollow(x1) && !is_hollow(x2) && std::max(rows(x1), rows(x2)) > kFew;
  const bool product = p == 2 && x1.sizes().back() > 0 && (mode == kProducts || (mode == kByNumber && many));
  return ops::_distances(mixed ? ops::to_dtype(x1, dtype) : x1, mixed ? ops::to_dtype(x2, dtype) : x2, p,
                         product, false);
}

Tensor pdist(const Tensor& self, double p) {
  TL_CHECK(self.dim() == 2, Runtime, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  TL_CHECK(is_floating(self.dtype()), Runtime, "pdist only supports floating-point dtypes");
  TL_CHECK(p >= 0, Runtime, "pdist only supports non-negative p values");
  return ops::_distances(self, self, p, false, true);
}

// ---- norms -----------------------------------------------------------------------------------------------
Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  if (dim == -1) return ops::linalg_vector_norm(v, Scalar(pow));
  const int64_t axis = wrap_dim(dim, v.dim());
  DimVector dims;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != axis) dims.push_back(d);
  return dims.empty() ? ops::abs(v) : ops::linalg_vector_norm(v, Scalar(pow), dims, true);
}
}  // namespace

TL_KERNEL(cosine_similarity, cosine_similarity)
TL_KERNEL(pairwise_distance, pairwise_distance)
TL_KERNEL(cdist, cdist)
TL_KERNEL(pdist, pdist)
TL_KERNEL(norm_except_dim, norm_except_dim)

}  // namespace tl

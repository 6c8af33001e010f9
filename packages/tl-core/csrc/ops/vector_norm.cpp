// Norms of vectors, and distances.
#include <cmath>

#include "iter/promotion.h"
#include "ops.h"
#include "ops/copy.h"
#include "ops/elementwise.h"
#include "ops/reduction.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using OptDims = std::optional<IntSpan>;
using OptDType = std::optional<DType>;

Tensor into(Out out, const Tensor& t) {
  if (!out) return t;
  return ops::copy_(prepare_out(out, t.sizes(), {out.tensor->dtype(), t.device()}), t);
}

// Halves add up in float32.
Tensor powered(const Tensor& magnitudes, double p, OptDims dim, bool keepdim) {
  const DType wide = is_half(magnitudes.dtype()) ? DType::Float32 : magnitudes.dtype();
  const Tensor x = to_dtype(magnitudes, wide);
  const Tensor sum = ops::sum_dim_IntList(ops::pow_Tensor_Tensor(x, Scalar(p)), dim, keepdim);
  return to_dtype(ops::pow_Tensor_Tensor(sum, Scalar(1 / p)), magnitudes.dtype());
}

// The square root of the sum of squares, in one pass.
Tensor euclidean(const Tensor& x, OptDims dim, bool keepdim) {
  const uint64_t mask = dim_mask(dim.value_or(IntSpan()), x.dim());
  const Tensor result = empty(reduced_shape(x.sizes(), mask, keepdim), {x.dtype(), x.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  const ReduceGeometry geometry(x, mask, result, nullptr, keepdim, false);
  cpu::reduce(cpu::Reduce::Norm2, x.dtype(), result.ptr<char>(), nullptr, x.ptr<char>(), geometry.shape());
  return result;
}

void check_extreme(const Tensor& self, double p, OptDims dim) {
  if (self.numel() > 0 || !(std::isinf(p) || p < 0)) return;
  const char* text = "linalg.vector_norm cannot compute the ";
  TL_CHECK(dim && !dim->empty(), Runtime, text, p,
           " norm on an empty tensor because the operation does not have an identity");
  for (int64_t d : *dim)
    TL_CHECK(self.dim() == 0 || self.size(wrap_dim(d, self.dim())) != 0, Runtime, text, p,
             " norm on the dimension ", d,
             " because this dimension is empty and the operation does not have an identity");
}

Tensor vector_norm(const Tensor& self, const Scalar& ord, OptDims dim, bool keepdim, OptDType dtype,
                   Out out) {
  TL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), Runtime,
           "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
           scalar_type_name(self.dtype()));
  TL_CHECK(!ord.is_complex(), Runtime,
           "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  TL_CHECK(!dtype || is_floating(*dtype) || is_complex(*dtype), Runtime,
           "linalg.vector_norm: dtype should be floating point or complex. Got ", scalar_type_name(*dtype));
  const double p = ord.to_double();
  check_extreme(self, p, dim);
  const Tensor input = dtype ? to_dtype(self, *dtype) : self;
  const Tensor x = is_complex(input.dtype()) ? ops::abs(input) : input;
  const DimVector all;
  const OptDims dims = dim ? *dim : IntSpan(all);
  if (p == 2) return into(out, euclidean(x, dims, keepdim));
  const Tensor magnitudes = ops::abs(x);
  if (std::isinf(p))
    return into(out, p > 0 ? ops::amax(magnitudes, *dims, keepdim) : ops::amin(magnitudes, *dims, keepdim));
  if (p == 1) return into(out, ops::sum_dim_IntList(magnitudes, dims, keepdim));
  if (p == 0)
    return into(out,
                ops::sum_dim_IntList(to_dtype(ops::ne(magnitudes, Scalar(0)), x.dtype()), dims, keepdim));
  return into(out, powered(magnitudes, p, dims, keepdim));
}

// Zero where the norm or the element is zero: one of the subgradients.
Tensor vector_norm_backward(const Tensor& g, const Tensor& self, const Scalar& ord, const Tensor& result,
                            OptDims dim, bool keepdim) {
  const double p = ord.to_double();
  if (p == 0) return ops::zeros_like(self);
  const Tensor each = ops::unsum(g, self.sizes(), dim, keepdim),
               norm = ops::unsum(result, self.sizes(), dim, keepdim);
  const auto without_zeros = [](const Tensor& t, const Tensor& at) {
    return ops::masked_fill_Scalar(t, ops::eq(at, Scalar(0)), Scalar(0));
  };
  if (p == 1) return ops::mul(ops::sgn(self), each);
  if (p == 2) return ops::mul(self, without_zeros(ops::div(each, norm), norm));
  const Tensor magnitude = ops::abs(self), direction = ops::sgn(self);
  if (std::isinf(p)) {
    const Tensor hit =
        ops::logical_or(ops::eq(magnitude, norm), ops::logical_and(ops::isnan(magnitude), ops::isnan(norm)));
    const Tensor ties = ops::sum_dim_IntList(hit, dim, true);
    return ops::mul(direction, ops::mul(ops::div(each, ties), hit));
  }
  const Tensor scale = without_zeros(ops::div(each, ops::pow_Tensor_Tensor(norm, Scalar(p - 1))), norm);
  if (p < 2)
    return ops::mul(
        ops::mul(direction, without_zeros(ops::pow_Tensor_Tensor(magnitude, Scalar(p - 1)), magnitude)),
        scale);
  return ops::mul(ops::mul(self, ops::pow_Tensor_Tensor(magnitude, Scalar(p - 2))), scale);
}

Tensor norm(const Tensor& self, const Scalar& p) { return ops::linalg_vector_norm(self, p); }
Tensor norm_dim(const Tensor& self, const std::optional<Scalar>& p, IntSpan dim, bool keepdim, Out out) {
  const Scalar order = p.value_or(Scalar(2));
  return out ? ops::linalg_vector_norm_out(self, order, dim, keepdim, std::nullopt, *out)
             : ops::linalg_vector_norm(self, order, dim, keepdim);
}
Tensor norm_dtype(const Tensor& self, const std::optional<Scalar>& p, IntSpan dim, bool keepdim, DType dtype,
                  Out out) {
  const Scalar order = p.value_or(Scalar(2));
  return out ? ops::linalg_vector_norm_out(self, order, dim, keepdim, dtype, *out)
             : ops::linalg_vector_norm(self, order, dim, keepdim, dtype);
}
Tensor norm_all_dtype(const Tensor& self, const std::optional<Scalar>& p, DType dtype) {
  return ops::linalg_vector_norm(self, p.value_or(Scalar(2)), std::nullopt, false, dtype);
}
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return ops::linalg_vector_norm(ops::sub(self, other), p);
}
}  // namespace

TL_KERNEL(linalg_vector_norm, vector_norm)
TL_KERNEL(linalg_vector_norm_backward, vector_norm_backward)
TL_KERNEL(norm_Scalar, norm)
TL_KERNEL(norm_ScalarOpt_dim, norm_dim)
TL_KERNEL(norm_ScalarOpt_dim_dtype, norm_dtype)
TL_KERNEL(norm_ScalarOpt_dtype, norm_all_dtype)
TL_KERNEL(dist, dist)

}  // namespace tl

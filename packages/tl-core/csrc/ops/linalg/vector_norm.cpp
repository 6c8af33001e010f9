// Norms of vectors, and distances.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/matmul_precision.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/linalg/cdist.h"
#include "ops.h"
#include "ops/reduce/reduction.h"
#include "ops/shared/copy.h"
#include "ops/shared/differentiated.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
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
  const DType wide = opmath_type(magnitudes.dtype());
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

// A norm may be computed in a wider type than its input's, never in a narrower one.
void check_norm_dtype(DType own, DType asked) {
  constexpr const char* name = "linalg.vector_norm: ";
  TL_CHECK(is_floating(asked) || is_complex(asked), Runtime, name,
           "dtype should be floating point or complex, but got ", scalar_type_name(asked));
  TL_CHECK(is_complex(asked) == is_complex(own), Runtime, name, "dtype should be ",
           is_complex(own) ? "complex for complex" : "real for real", " inputs, but got ",
           scalar_type_name(asked));
  TL_CHECK(promote(own, asked) == asked, Runtime, name, "the dtype of the input (", scalar_type_name(own),
           ") should be convertible without narrowing to the specified dtype (", scalar_type_name(asked),
           ")");
}

// p = 2, 1, 0 and infinities have reductions of their own; others are powers, summed.
Tensor vector_norm(const Tensor& self, const Scalar& ord, OptDims dim, bool keepdim, OptDType dtype,
                   Out out) {
  TL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), Runtime,
           "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
           scalar_type_name(self.dtype()));
  TL_CHECK(!ord.is_complex(), Runtime,
           "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  if (dtype) check_norm_dtype(self.dtype(), *dtype);
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

// Norms as divisors: 1 where they are zero, so that the derivatives of what is replaced there are finite.
Tensor divisor_of(const Tensor& norm) {
  return ops::masked_fill_Scalar(norm, ops::eq(norm, Scalar(0)), Scalar(1));
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
  const auto divisor = [&] { return ops::unsum(divisor_of(result), self.sizes(), dim, keepdim); };
  if (p == 2) return ops::mul(self, without_zeros(ops::div(each, divisor()), norm));
  const Tensor magnitude = ops::abs(self), direction = ops::sgn(self);
  if (std::isinf(p)) {
    const Tensor hit =
        ops::logical_or(ops::eq(magnitude, norm), ops::logical_and(ops::isnan(magnitude), ops::isnan(norm)));
    const Tensor ties = ops::sum_dim_IntList(hit, dim, true);
    return ops::mul(direction, ops::mul(ops::div(each, ties), hit));
  }
  const Tensor scale = without_zeros(ops::div(each, ops::pow_Tensor_Tensor(divisor(), Scalar(p - 1))), norm);
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

// ---- of all pairs -----------------------------------------------------------------------------------------
int64_t from_end(const Tensor& t, int64_t d) { return t.size(t.dim() - d); }
Tensor transposed(const Tensor& t) { return ops::transpose_int(t, -2, -1); }

// |a - b|^2 = |a|^2 - 2ab + |b|^2
Tensor by_product(const Tensor& x1, const Tensor& x2) {
  const AllBits all_bits;
  const auto squares = [](const Tensor& x) {
    return ops::sum_dim_IntList(ops::square(x), DimVector{-1}, true);
  };
  const Tensor n1 = squares(x1), n2 = squares(x2);
  const Tensor left = ops::cat(std::vector<Tensor>{ops::mul(x1, Scalar(-2)), n1, ops::ones_like(n1)}, -1);
  const Tensor right = ops::cat(std::vector<Tensor>{x2, ops::ones_like(n2), n2}, -1);
  return ops::sqrt_(ops::clamp_min_(ops::matmul(left, transposed(right)), Scalar(0)));
}

DimVector pair_batch(const Tensor& x1, const Tensor& x2) {
  const auto lead = [](const Tensor& t) { return t.sizes().first(static_cast<size_t>(t.dim() - 2)); };
  return broadcast_shapes(lead(x1), lead(x2));
}

Tensor in_batch(const Tensor& t, const DimVector& batch, DType type) {
  DimVector sizes(batch);
  sizes.push_back(from_end(t, 2));
  sizes.push_back(from_end(t, 1));
  return to_contiguous(to_dtype(ops::expand(t, sizes), type));
}

cpu::CdistShape pairs(const DimVector& batch, const Tensor& x1, const Tensor& x2, double p, cpu::Pairs kind) {
  int64_t n = 1;
  for (int64_t size : batch) n = checked_mul(n, size);
  return {n, from_end(x1, 2), from_end(x2, 2), from_end(x1, 1), p, kind};
}

void check_pairs(const Tensor& x1, const Tensor& x2) {
  TL_CHECK(x1.dim() >= 2 && x2.dim() >= 2 && from_end(x1, 1) == from_end(x2, 1) && x1.dtype() == x2.dtype() &&
               is_floating(x1.dtype()),
           Runtime, "_distances(): vectors of shapes ", x1.sizes(), " and ", x2.sizes(), " don't fit");
}

Tensor distances(const Tensor& x1, const Tensor& x2, double p, bool product, bool later) {
  check_pairs(x1, x2);
  TL_CHECK(!later || (x1.dim() == 2 && std::ranges::equal(x1.sizes(), x2.sizes())), Runtime,
           "_distances(): later pairs are of one collection, got ", x1.sizes(), " and ", x2.sizes());
  if (product) return by_product(x1, x2);
  const DType type = accumulate_type(x1.dtype());
  DimVector sizes = pair_batch(x1, x2);
  const Tensor a = in_batch(x1, sizes, type), b = in_batch(transposed(x2), sizes, type);
  const cpu::CdistShape shape = pairs(sizes, x1, x2, p, later ? cpu::Pairs::Later : cpu::Pairs::All);
  if (later) {
    sizes.push_back(checked_mul(shape.rows, shape.rows - 1) / 2);
  } else {
    sizes.push_back(shape.rows);
    sizes.push_back(shape.others);
  }
  const Tensor out = empty(sizes, {type, x1.device()});
  if (!out.is_meta() && out.numel() != 0)
    cpu::distance_kernels(type).distances(shape, out.ptr<char>(), a.ptr<char>(), b.ptr<char>());
  return to_dtype(out, x1.dtype());
}

void check_distances(const Tensor& t, const Tensor& x1, const Tensor& x2) {
  TL_CHECK(t.dtype() == x1.dtype() && t.dim() >= 2 && from_end(t, 2) == from_end(x1, 2) &&
               from_end(t, 1) == from_end(x2, 2),
           Runtime, "_distances_backward(): shape ", t.sizes(), " is not that of the distances");
}

// By the rows of x1.
Tensor backward_by_kernel(const Tensor& g, const Tensor& x1, const Tensor& x2, const Tensor& result,
                          const DimVector& batch, const cpu::CdistShape& shape) {
  const DType type = accumulate_type(x1.dtype());
  const auto dense = [&](const Tensor& t) { return to_contiguous(to_dtype(t, type)); };
  const Tensor a = in_batch(x1, batch, type), b = in_batch(x2, batch, type), grad = dense(g),
               apart = dense(result);
  const Tensor out = empty(a.sizes(), {type, x1.device()});
  if (!out.is_meta() && out.numel() != 0)
    cpu::distance_kernels(type).backward(shape, out.ptr<char>(), a.ptr<char>(), b.ptr<char>(),
                                         apart.ptr<char>(), grad.ptr<char>());
  return to_dtype(out, x1.dtype());
}

Tensor distances_backward(const Tensor& g, const Tensor& x1, const Tensor& x2, const Tensor& result,
                          double p) {
  check_pairs(x1, x2);
  const DimVector batch = pair_batch(x1, x2);
  for (const Tensor& t : {g, result}) check_distances(t, x1, x2);
  const DType type = x1.dtype();
  return backward_by_kernel(in_batch(g, batch, type), x1, x2, in_batch(result, batch, type), batch,
                            pairs(batch, x1, x2, p, cpu::Pairs::All));
}

void check_later_pairs(const Tensor& t, const Tensor& x1, const Tensor& x2) {
  TL_CHECK(x1.dim() == 2 && std::ranges::equal(x1.sizes(), x2.sizes()) && t.dtype() == x1.dtype() &&
               t.dim() == 1 && t.size(0) == x1.size(0) * (x1.size(0) - 1) / 2,
           Runtime, "_distances_gradient(): shape ", t.sizes(), " is not that of the later pairs of ",
           x1.sizes(), " and ", x2.sizes());
}

// Whether the kernel gives the gradient.
bool has_backward_kernel(double p, const Tensor& grad, const Tensor& x1, const Tensor& x2) {
  return !is_differentiated(grad, x1, x2) && p != 0 && !std::isinf(p);
}

// A matrix of what there is of later pairs.
Tensor of_all_pairs(const Tensor& later, int64_t n) {
  const Tensor k = ops::arange(Scalar(n), {.dtype = DType::Int64, .device = later.device()});
  const Tensor none = ops::zeros(DimVector{n, n}, {.dtype = later.dtype(), .device = later.device()});
  return ops::masked_scatter(none, ops::lt(ops::unsqueeze(k, 1), k), later);
}

// By x1.
Tensor all_pairs_gradient(const Tensor& grad, const Tensor& x1, const Tensor& x2, const Tensor& result,
                          double p, bool product) {
  if (product) {  // where a distance is zero, so is its gradient
    const AllBits all_bits;
    const Tensor ratio =
        ops::masked_fill_Scalar(ops::div(grad, divisor_of(result)), ops::eq(result, Scalar(0)), Scalar(0));
    return ops::sub(ops::mul(x1, ops::sum_dim_IntList(ratio, DimVector{-1}, true)), ops::matmul(ratio, x2));
  }
  if (has_backward_kernel(p, grad, x1, x2)) return ops::_distances_backward(grad, x1, x2, result, p);
  const Tensor differences = ops::sub(ops::unsqueeze(x1, -2), ops::unsqueeze(x2, -3));
  return ops::sum_dim_IntList(
      ops::linalg_vector_norm_backward(grad, differences, Scalar(p), result, DimVector{-1}, false),
      DimVector{-2}, false);
}

// By the first of each pair, or by the later one if `second`.
Tensor later_pairs_gradient(const Tensor& grad, const Tensor& x, const Tensor& result, double p,
                            bool second) {
  const int64_t n = x.size(0);
  const Tensor pairs_of = ops::triu_indices(n, n, 1, {.dtype = DType::Int64, .device = x.device()});
  const Tensor one = ops::select_int(pairs_of, 0, 0), other = ops::select_int(pairs_of, 0, 1);
  const Tensor& own = second ? other : one;
  const Tensor differences =
      ops::sub(ops::index_select(x, 0, own), ops::index_select(x, 0, second ? one : other));
  return ops::index_add(
      ops::zeros_like(x), 0, own,
      ops::linalg_vector_norm_backward(grad, differences, Scalar(p), result, DimVector{-1}, false));
}

Tensor native_norm(const Tensor& self, const Scalar& p) { return ops::norm_Scalar(self, p); }
Tensor native_norm_dim(const Tensor& self, const std::optional<Scalar>& p, IntSpan dim, bool keepdim,
                       std::optional<DType> dtype) {
  return dtype ? ops::norm_ScalarOpt_dim_dtype(self, p, dim, keepdim, *dtype)
               : ops::norm_ScalarOpt_dim(self, p, dim, keepdim);
}

Tensor distances_gradient(const DistancesGradientArgs& a) {
  const auto& [grad, x1, x2, result, p, product, later, second] = a;
  check_pairs(x1, x2);
  if (later)
    for (const Tensor& t : {grad, result}) check_later_pairs(t, x1, x2);
  if (later && !has_backward_kernel(p, grad, x1, x2))
    return later_pairs_gradient(grad, x1, result, p, second);
  if (later && is_plain(grad) && is_plain(x1) && is_plain(x2) && is_plain(result))
    return backward_by_kernel(grad, second ? x2 : x1, second ? x1 : x2, result, {},
                              pairs({}, x1, x2, p, second ? cpu::Pairs::Earlier : cpu::Pairs::Later));
  const auto all = [&](const Tensor& t) { return a.later ? of_all_pairs(t, a.x1.size(0)) : t; };
  const Tensor g = all(grad), apart = all(result);
  for (const Tensor& t : {g, apart}) check_distances(t, x1, x2);
  return second ? ops::sum_to_size(all_pairs_gradient(transposed(g), x2, x1, transposed(apart), p, product),
                                   x2.sizes())
                : ops::sum_to_size(all_pairs_gradient(g, x1, x2, apart, p, product), x1.sizes());
}
}  // namespace

TL_KERNEL(linalg_vector_norm, vector_norm)
TL_KERNEL(linalg_vector_norm_backward, vector_norm_backward)
TL_KERNEL(norm_Scalar, norm)
TL_KERNEL(norm_ScalarOpt_dim, norm_dim)
TL_KERNEL(norm_ScalarOpt_dim_dtype, norm_dtype)
TL_KERNEL(norm_ScalarOpt_dtype, norm_all_dtype)
TL_KERNEL(native_norm, native_norm)
TL_KERNEL(native_norm_ScalarOpt_dim_dtype, native_norm_dim)
TL_KERNEL(dist, dist)
TL_KERNEL(_distances, distances)
TL_KERNEL(_distances_backward, distances_backward)
TL_KERNEL(_distances_gradient, distances_gradient)

}  // namespace tl

// Products that are made of products of matrices.
#include <algorithm>
#include <limits>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {

// What out= or the in-place form gets of a result.
Tensor given_to(Out out, const Tensor& result) {
  if (!out) return result;
  check_castable(result.dtype(), *out);
  return ops::copy_(prepare_out(out, result.sizes(), {out.tensor->dtype(), result.device()}), result);
}

// The sum over the batch is one long sum.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha, Out out) {
  TL_CHECK(batch1.dim() == 3, Runtime, "batch1 must be a 3D tensor, got ", batch1.dim(), "D");
  TL_CHECK(batch2.dim() == 3, Runtime, "batch2 must be a 3D tensor, got ", batch2.dim(), "D");
  TL_CHECK(batch1.size(0) == batch2.size(0), Runtime,
           "batch1 and batch2 must have same number of batches, got ", batch1.size(0), " and ",
           batch2.size(0));
  TL_CHECK(batch1.size(2) == batch2.size(1), Runtime, "Incompatible matrix sizes for bmm (", batch1.size(1),
           "x", batch1.size(2), " and ", batch2.size(1), "x", batch2.size(2), ")");
  const int64_t depth = batch1.size(0) * batch1.size(2);
  const Tensor rows = ops::reshape(ops::transpose_int(batch1, 0, 1), DimVector{batch1.size(1), depth});
  const Tensor columns = ops::reshape(batch2, DimVector{depth, batch2.size(2)});
  return given_to(out, ops::addmm(self, rows, columns, beta, alpha));
}

Tensor vdot(const Tensor& self, const Tensor& other, Out out) {
  const bool complex = is_complex(self.dtype()) && self.dim() == 1;
  return given_to(out, ops::dot(complex ? ops::conj_physical(self) : self, other));
}

Tensor outer(const Tensor& self, const Tensor& vec2, Out out) {
  TL_CHECK(self.dim() == 1, Runtime, "outer: Expected 1-D argument self, but got ", self.dim(), "-D");
  TL_CHECK(vec2.dim() == 1, Runtime, "outer: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  return given_to(out, ops::mul(ops::unsqueeze(self, 1), vec2));
}

void check_factor(DType dtype, const char* name, const Scalar& s) {
  TL_CHECK(!is_integral(dtype, true) || s.is_integral(), Runtime, "For integral input tensors, argument ",
           name, " must not be a floating point number.");
  TL_CHECK(dtype == DType::Bool || !s.is_bool(), Runtime, "Boolean ", name,
           " only supported for Boolean results.");
  TL_CHECK(is_complex(dtype) || !s.is_complex(), Runtime, "For non-complex input tensors, argument ", name,
           " must not be a complex number.");
  s.check_fits(dtype);
}

Tensor scaled(const Tensor& t, const Scalar& factor, DType dtype) {
  if (dtype == DType::Bool) return ops::logical_and(t, ops::scalar_tensor(factor, {.dtype = DType::Bool}));
  // The factor is of the result's type, also of halves.
  if (is_half(dtype)) return ops::mul(t, ops::scalar_tensor(factor, {.dtype = dtype, .device = t.device()}));
  return ops::mul(t, Operand(factor));
}

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha, Out out) {
  TL_CHECK(vec1.dim() == 1 && vec2.dim() == 1, Runtime, "addr: Expected 1-D argument vec",
           vec1.dim() == 1 ? 2 : 1, ", but got ", vec1.dim() == 1 ? vec2.dim() : vec1.dim(), "-D");
  Promotion types;
  for (const Tensor* t : {&self, &vec1, &vec2}) types.add(*t);
  const DType dtype = types.result();
  check_factor(dtype, "beta", beta);
  check_factor(dtype, "alpha", alpha);
  const DimVector shape{vec1.size(0), vec2.size(0)};
  // The products are of the result's type, which the vectors alone may not have.
  const Tensor added = ops::expand(ops::to_dtype(self, dtype), shape);
  const Tensor column = ops::unsqueeze(ops::to_dtype(vec1, dtype), 1), row = ops::to_dtype(vec2, dtype);
  if (dtype != DType::Bool && !is_half(dtype) && beta.is_int() && beta.to_int() == 1)  // in one pass
    return given_to(out, ops::addcmul(added, column, row, alpha));
  Tensor result = ops::mul(scaled(column, alpha, dtype), row);
  if (beta.to_bool()) {
    const Tensor term = scaled(added, beta, dtype);
    result = dtype == DType::Bool ? ops::logical_or(term, result) : ops::add(term, result);
  }
  return given_to(out, result);
}

Tensor inner(const Tensor& self, const Tensor& other, Out out) {
  if (self.dim() == 0 || other.dim() == 0) return given_to(out, ops::mul(self, other));
  const int64_t depth = self.size(self.dim() - 1);
  TL_CHECK(depth == other.size(other.dim() - 1), Runtime,
           "inner() the last dimension must match on both input tensors but got shapes ", self.sizes(),
           " and ", other.sizes());
  if (self.dim() == 1 && other.dim() == 1 && self.dtype() == other.dtype())
    return given_to(out, ops::dot(self, other));  // autocast leaves its type alone
  return given_to(out, ops::tensordot(self, other, DimVector{-1}, DimVector{-1}));
}

// The dimensions that are not in the mask, then those listed; or the other way around.
Tensor as_operand(const Tensor& t, const DimVector& dims, bool summed_last) {
  const uint64_t mask = dim_mask(dims, t.dim(), false);
  DimVector order;
  int64_t retained = 1, summed = 1;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (mask >> d & 1) continue;
    order.push_back(d);
    retained *= t.size(d);
  }
  size_t position = summed_last ? order.size() : 0;
  for (const int64_t d : dims) {
    order.insert(position++, d);
    summed *= t.size(d);
  }
  return ops::reshape(ops::permute(t, order),
                      summed_last ? DimVector{retained, summed} : DimVector{summed, retained});
}

// Tensor contraction: both operands are permuted to matrices, multiplied by one GEMM and reshaped.
Tensor tensordot(const Tensor& self, const Tensor& other, IntSpan dims_self, IntSpan dims_other, Out out) {
  TL_CHECK(dims_self.size() == dims_other.size(), Runtime,
           "both dimension lists should have same length, got ", dims_self.size(), " and ",
           dims_other.size());
  TL_CHECK(self.dtype() == other.dtype(), Runtime,
           "tensordot: expected both inputs to have the same dtype, but got ", dtype_name(self.dtype()),
           " and ", dtype_name(other.dtype()));
  Tensor a = self, b = other;
  DimVector of_a, of_b;
  for (size_t i = 0; i < dims_self.size(); ++i) {
    const int64_t x = wrap_dim(dims_self[i], self.dim(), false),
                  y = wrap_dim(dims_other[i], other.dim(), false);
    if (other.size(y) == 1 && self.size(x) != 1)
      a = ops::sum_dim_IntList(a, DimVector{x}, true, self.dtype());
    if (self.size(x) == 1 && other.size(y) != 1)
      b = ops::sum_dim_IntList(b, DimVector{y}, true, other.dtype());
    TL_CHECK(a.size(x) == b.size(y), Runtime, "contracted dimensions need to match, but first has size ",
             a.size(x), " in dim ", x, " and second has size ", b.size(y), " in dim ", y);
    of_a.push_back(x);
    of_b.push_back(y);
  }
  const uint64_t in_a = dim_mask(of_a, a.dim(), false), in_b = dim_mask(of_b, b.dim(), false);
  DimVector shape;
  for (int64_t d = 0; d < a.dim(); ++d)
    if (!(in_a >> d & 1)) shape.push_back(a.size(d));
  for (int64_t d = 0; d < b.dim(); ++d)
    if (!(in_b >> d & 1)) shape.push_back(b.size(d));
  return given_to(out, ops::reshape(ops::mm(as_operand(a, of_a, true), as_operand(b, of_b, false)), shape));
}

// ---- chains: the order with the fewest multiplications (Cormen et al., Introduction to Algorithms, 15.2)

class Chain {
 public:
  explicit Chain(TensorList matrices)
      : matrices_(matrices), n_(matrices.size()), cost_(n_ * n_), cut_(n_ * n_) {
    for (size_t length = 2; length <= n_; ++length)
      for (size_t i = 0; i + length <= n_; ++i) find_cut(i, i + length - 1);
  }

  Tensor product() const { return between(0, n_ - 1); }

 private:
  double side(size_t i) const {
    return static_cast<double>(i < n_ ? matrices_[i].size(0) : matrices_[n_ - 1].size(1));
  }

  void find_cut(size_t i, size_t j) {
    double best = std::numeric_limits<double>::infinity();
    for (size_t k = i; k < j; ++k) {
      const double cost = cost_[i * n_ + k] + cost_[(k + 1) * n_ + j] + side(i) * side(k + 1) * side(j + 1);
      if (cost < best) best = cost, cut_[i * n_ + j] = k;
    }
    cost_[i * n_ + j] = best;
  }

  Tensor between(size_t i, size_t j) const {
    if (i == j) return matrices_[i];
    const size_t k = cut_[i * n_ + j];
    return ops::mm(between(i, k), between(k + 1, j));
  }

  TensorList matrices_;
  size_t n_;
  std::vector<double> cost_;
  std::vector<size_t> cut_;
};

Tensor chain_matmul(TensorList matrices, Out out) {
  static WarnOnce deprecated;
  deprecated(
      "torch.chain_matmul is deprecated in favor of torch.linalg.multi_dot, which takes a list of matrices");
  TL_CHECK(!matrices.empty(), Runtime, "chain_matmul(): Expected one or more matrices");
  for (size_t i = 0; i < matrices.size(); ++i)
    TL_CHECK(matrices[i].dim() == 2, Runtime, "Tensor dimension is ", matrices[i].dim(),
             ", expected 2 instead.");
  return given_to(out, matrices.size() == 1 ? ops::clone(matrices[0]) : Chain(matrices).product());
}

Tensor linalg_multi_dot(TensorList tensors, Out out) {
  const size_t n = tensors.size();
  TL_CHECK(n >= 2, Runtime, "multi_dot(): expected at least 2 tensors but got ", n);
  for (size_t i = 1; i < tensors.size(); ++i)
    TL_CHECK(tensors[i].dtype() == tensors[0].dtype(), Runtime,
             "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
             scalar_type_name(tensors[0].dtype()), " and tensor ", i, " ",
             scalar_type_name(tensors[i].dtype()));
  std::vector<Tensor> chain(tensors.begin(), tensors.end());
  const bool row = chain.front().dim() == 1, column = chain.back().dim() == 1;
  if (row) chain.front() = ops::unsqueeze(chain.front(), 0);
  if (column) chain.back() = ops::unsqueeze(chain.back(), 1);
  for (size_t i = 0; i < n; ++i) {
    TL_CHECK(chain[i].dim() == 2, Runtime, "multi_dot(): ",
             i == 0       ? "the first"
             : i + 1 == n ? "the last"
                          : "",
             i == 0 || i + 1 == n ? " tensor must be 1D or 2D but got "
                                  : cat("tensor ", i, " must be 2D but got "),
             tensors[i].dim(), "D");
    TL_CHECK(i == 0 || chain[i - 1].size(1) == chain[i].size(0), Runtime, "multi_dot(): tensors ", i - 1,
             " and ", i, " with shapes ", tensors[i == 0 ? 0 : i - 1].sizes(), " and ", tensors[i].sizes(),
             " cannot be multiplied");
  }
  Tensor result = Chain(chain).product();
  if (column) result = ops::squeeze_dim(result, 1);
  if (row) result = ops::squeeze_dim(result, 0);
  return given_to(out, result);
}

}  // namespace

TL_KERNEL(addbmm, addbmm)
TL_KERNEL(vdot, vdot)
TL_KERNEL(outer, outer)
TL_KERNEL(addr, addr)
TL_KERNEL(inner, inner)
TL_KERNEL(tensordot, tensordot)
TL_KERNEL(chain_matmul, chain_matmul)
TL_KERNEL(linalg_multi_dot, linalg_multi_dot)

}  // namespace tl

// Functions of matrices that are made of products and solutions: powers, tensor inverses, Vandermonde
// matrices.
#include <algorithm>
#include <array>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/linalg/matrices.h"
#include "ops/shared/copy.h"
#include "ops/shared/known_values.h"
#include "ops/shared/out.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Pair = std::tuple<Tensor, Tensor>;

// A copy of the input with the elements of unit matrices, so that it has a derivative, which is zero.
Tensor zeroth_power(const Tensor& A) {
  return ops::copy_(ops::clone(A), ops::eye(last(A), {.dtype = A.dtype(), .device = A.device()}));
}

// Binary powering from the highest bit, for n > 0.
Tensor positive_power(const Tensor& A, uint64_t n) {
  Tensor square = A, result;
  for (; n; n >>= 1) {
    if (n & 1) result = result ? ops::matmul(result, square) : square;
    if (n > 1) square = ops::matmul(square, square);
  }
  return result;
}

Tensor matrix_power(const Tensor& self, int64_t n, Out out) {
  TL_CHECK(self.dim() >= 2, Runtime,
           "linalg.matrix_power: The input tensor A must have at least 2 dimensions.");
  TL_CHECK(rows_of(self) == last(self), Runtime,
           "linalg.matrix_power: A must be batches of square matrices, but they are ", rows_of(self), " by ",
           last(self), " matrices");
  if (n == 0) return copied_out(zeroth_power(self), out);
  if (n == 1) return copied_out(ops::clone(self), out);
  const Tensor base = n < 0 ? ops::linalg_inv(self) : self;
  return copied_out(positive_power(base, n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n)), out);
}

Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim, Out out) {
  TL_CHECK(is_floating(x.dtype()) || is_complex(x.dtype()), Runtime,
           "linalg.vecdot: Expected a floating point or complex tensor as input. Got ",
           scalar_type_name(x.dtype()));
  TL_CHECK(x.dtype() == y.dtype(), Runtime,
           "linalg.vecdot: Expected x and y to have the same dtype, but found x of type ",
           scalar_type_name(x.dtype()), " and y of type ", scalar_type_name(y.dtype()), " instead");
  return copied_out(ops::sum_dim_IntList(ops::mul(ops::conj(x), y), DimVector{dim}), out);
}

// Powers 0 to N - 1 of each element along a new last dimension.
Tensor vander(const Tensor& self, std::optional<int64_t> N) {
  TL_CHECK(self.dtype() != DType::Bool, Runtime, "torch.linalg.vander(): The input must not be of type bool");
  const Tensor x = self.dim() ? self : ops::unsqueeze(self, 0);
  const int64_t n = N.value_or(last(x));
  TL_CHECK(n > 1, Runtime, "N must be greater than 1.");
  const Tensor column = ops::unsqueeze(x, -1);
  const DimVector repeated = with_matrix(x.sizes().first(static_cast<size_t>(x.dim() - 1)), last(x), n - 1);
  const Tensor powers = ops::cumprod(ops::expand(column, repeated), -1);
  const std::array<Tensor, 2> parts{ops::ones_like(column), powers};
  return ops::cat(parts, -1);
}

Tensor tensorinv(const Tensor& self, int64_t ind, Out out) {
  TL_CHECK(ind > 0, Runtime, "Expected a strictly positive integer for 'ind' but got ", ind);
  const IntSpan shape = self.sizes();
  const size_t first = std::min(static_cast<size_t>(ind), shape.size());
  const IntSpan front = shape.first(first), back = shape.subspan(first);
  const int64_t rows = checked_numel(front), columns = checked_numel(back);
  TL_CHECK(
      rows == columns, Runtime,
      "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ",
      columns, " != ", rows);
  DimVector result(back);
  for (const int64_t n : front) result.push_back(n);
  return copied_out(ops::reshape(ops::linalg_inv(ops::reshape(self, DimVector{rows, columns})), result), out);
}

Tensor tensorsolve(const Tensor& self, const Tensor& other, std::optional<IntSpan> dims, Out out) {
  Tensor A = self;
  if (dims) {
    DimVector ends;
    for (size_t i = 0; i < dims->size(); ++i)
      ends.push_back(self.dim() - static_cast<int64_t>(dims->size()) + static_cast<int64_t>(i));
    A = ops::movedim_intlist(self, *dims, ends);
  }
  TL_CHECK(A.dim() >= other.dim(), Runtime,
           "linalg.tensorsolve: A must have at least as many dimensions as B");
  const DimVector unknowns(A.sizes().subspan(static_cast<size_t>(other.dim())));
  const int64_t columns = checked_numel(unknowns), rows = other.numel();
  TL_CHECK(rows == columns, Runtime,
           "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
           "prod(self.shape[:other.ndim]), "
           "but got ",
           columns, " != ", rows);
  const Tensor x =
      ops::linalg_solve(ops::reshape(A, DimVector{rows, columns}), ops::reshape(other, DimVector{rows}));
  return copied_out(ops::reshape(x, unknowns), out);
}

// Whether A X = B is well formed, and no layer wants X to be a function of A.
bool factors_suffice(const Tensor& A, const Tensor& B, bool left) {
  if (has_small_kernels(A) || !is_plain(A) || !is_plain(B) || A.dtype() != B.dtype()) return false;
  if (holds_vectors(A, B)) return left && last(B) == last(A);
  return B.dim() >= 2 && (left ? rows_of(B) : last(B)) == last(A);
}

// Of a singular matrix, what its factors give.
Pair solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors, Out out, Out out_info) {
  check_square("linalg.solve", "A", A);
  const auto [lu, pivots, info] = ops::linalg_lu_factor_ex(ops::detach(A), true, false);
  if (check_errors)
    check_info("torch.linalg.solve_ex", info, [](int32_t) {
      return std::string("The solver failed because the input matrix is singular.");
    });
  const bool vectors = left && holds_vectors(A, B);
  const Tensor result =
      !factors_suffice(A, B, left) && first_failure("torch.linalg.solve_ex", info) < 0
          ? ops::linalg_solve(A, B, left)
          : ops::linalg_lu_solve(lu, pivots, vectors ? ops::unsqueeze(B, -1) : B, left, false);
  return {copied_out(vectors && result.dim() > B.dim() ? ops::squeeze_dim(result, -1) : result, out),
          copied_out(info, out_info)};
}

Pair qr(const Tensor& self, bool some, Out out_q, Out out_r) {
  static WarnOnce deprecated;
  deprecated(
      "torch.qr is deprecated in favor of torch.linalg.qr: some=True is mode='reduced', some=False is "
      "mode='complete'");
  const auto [q, r] = ops::linalg_qr(self, some ? "reduced" : "complete");
  return {copied_out(q, out_q), copied_out(r, out_r)};
}

Tensor pinverse(const Tensor& self, double rcond) {
  check_matrix("pinverse", "self", self);
  const Tensor limit = empty(DimVector{}, {to_real(self.dtype()), self.device()});
  fill(limit, Scalar(rcond));
  return ops::linalg_pinv(self, nullptr, &limit, false);
}
}  // namespace

TL_KERNEL(linalg_matrix_power, matrix_power)
TL_KERNEL(linalg_vecdot, vecdot)
TL_KERNEL(linalg_vander, vander)
TL_KERNEL(linalg_tensorinv, tensorinv)
TL_KERNEL(linalg_tensorsolve, tensorsolve)
TL_KERNEL(linalg_solve_ex, solve_ex)
TL_KERNEL(qr, qr)
TL_KERNEL(pinverse, pinverse)

}  // namespace tl

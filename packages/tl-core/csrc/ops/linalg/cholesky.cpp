// The Cholesky factorization of Hermitian positive-definite matrices, by LAPACK, and what is solved with it.
#include "base/matmul_precision.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/linalg/matrices.h"
#include "ops/shared/copy.h"
#include "ops/shared/out.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Pair = std::tuple<Tensor, Tensor>;

std::string not_definite(int32_t code) {
  return cat(
      "The factorization could not be completed because the input is not positive-definite (the leading "
      "minor "
      "of order ",
      code, " is not positive-definite).");
}

Tensor small_factor(const Tensor& self, bool upper, const Tensor& info) {
  Tensor dense;
  const Tensor factor = empty_column_major(self.sizes(), {self.dtype(), self.device()});
  cpu::small_matrix_kernels(self.dtype())
      .potrf(small_matrices(self, dense), upper, factor.ptr<char>(), info.ptr<int32_t>());
  return factor;
}

Tensor lapack_factor(const Tensor& self, bool upper, const Tensor& info) {
  const lapack::Library& library = lapack::require("linalg.cholesky");
  const lapack::SingleThreaded single(library);
  const Tensor factor = column_major(self);
  cpu::potrf(lapack_batch(library, factor), upper ? 'U' : 'L', factor.ptr<char>(), info.ptr<int32_t>());
  upper ? ops::triu_(factor) : ops::tril_(factor);
  return factor;
}

Pair cholesky_ex(const Tensor& self, bool upper, bool check_errors, Out out, Out out_info) {
  check_square("linalg.cholesky", "A", self);
  check_decomposed("linalg_cholesky_cpu", self);
  const Tensor info = zero_info(batch_of(self), self.device());
  const bool small = has_small_kernels(self);
  const Tensor factor = self.is_meta() || !self.numel() ? column_major(self)
                        : small                         ? small_factor(self, upper, info)
                                                        : lapack_factor(self, upper, info);
  if (check_errors) check_info("linalg.cholesky", info, not_definite);
  return {copied_out(factor, out), copied_out(info, out_info)};
}

Tensor checked_cholesky(const char* name, const Tensor& self, bool upper) {
  const auto [factor, info] = ops::linalg_cholesky_ex(self, upper, false);
  check_info(name, info, not_definite);
  return factor;
}

Tensor linalg_cholesky(const Tensor& self, bool upper, Out out) {
  return copied_out(checked_cholesky("linalg.cholesky", self, upper), out);
}

Tensor cholesky(const Tensor& self, bool upper, Out out) {
  static WarnOnce deprecated;
  deprecated(
      "torch.cholesky is deprecated in favor of torch.linalg.cholesky, which gives lower triangles: "
      "torch.cholesky(A, upper=True) is torch.linalg.cholesky(A).mH");
  return copied_out(checked_cholesky("cholesky", self, upper), out);
}

// Murray, Differentiation of the Cholesky decomposition, 2016: L^-H Phi(L^H G) L^-1, symmetrized, where Phi
// takes the lower triangle and half of the diagonal.
Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper) {
  const AllBits all_bits;
  const Tensor L = upper ? adjoint(factor) : factor, g = upper ? adjoint(grad) : grad;
  const Tensor product = ops::tril(ops::matmul(adjoint(L), g), 0);
  const Tensor half = ops::mul(ops::diag_embed(ops::diagonal(product, 0, -2, -1)), Scalar(0.5));
  const Tensor phi = ops::sub(product, half);
  const Tensor inner = ops::mul(ops::add(phi, adjoint(phi)), Scalar(0.5));
  const Tensor right = ops::linalg_solve_triangular(L, inner, false, false, false);  // inner L^-1
  return ops::linalg_solve_triangular(adjoint(L), right, true, true, false);         // L^-H right
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper, Out out) {
  check_matrix("cholesky_solve", "B", self);
  check_square("cholesky_solve", "A", input2);
  check_decomposed("cholesky_solve_cpu", self);
  check_same_dtype("cholesky_solve", input2, self);
  TL_CHECK(rows_of(self) == last(input2), Runtime,
           "Incompatible matrix sizes for cholesky_solve: each A matrix is ", last(input2), " by ",
           last(input2), " but each b matrix is ", rows_of(self), " by ", last(self));
  const DimVector batch = broadcast_shapes(batch_of(self), batch_of(input2));
  const Tensor x = column_major(self, with_matrix(batch, rows_of(self), last(self)));
  if (x.is_meta() || x.numel() == 0) return copied_out(x, out);
  const Tensor factor = as_column_major(input2, with_matrix(batch, last(input2), last(input2)));
  const lapack::Library& library = lapack::require("cholesky_solve");
  const lapack::SingleThreaded single(library);
  cpu::potrs(lapack_batch(library, x), upper ? 'U' : 'L', factor.ptr<char>(), x.ptr<char>());
  return copied_out(x, out);
}

// -(g X^H + X g^H) L for X = A^-1 B with A = L L^H.
Tensor cholesky_solve_backward(const Tensor& grad, const Tensor& factor, const Tensor& result, bool upper) {
  const AllBits all_bits;
  const Tensor product = ops::matmul(ops::cholesky_solve(grad, factor, upper), adjoint(result));
  const Tensor g = ops::neg(ops::add(product, adjoint(product)));
  return upper ? ops::matmul(factor, g) : ops::matmul(g, factor);
}

// A^-1 = W, with A = L L^H: the gradient of L through the inverse.
Tensor cholesky_inverse(const Tensor& self, bool upper, Out out) {
  check_square("cholesky_inverse", "A", self);
  check_decomposed("cholesky_inverse_out_cpu", self);
  const Tensor inverse = column_major(self);
  if (inverse.is_meta() || inverse.numel() == 0) return copied_out(inverse, out);
  const Tensor info = zero_info(batch_of(self), self.device());
  const lapack::Library& library = lapack::require("cholesky_inverse");
  const lapack::SingleThreaded single(library);
  cpu::potri(lapack_batch(library, inverse), upper ? 'U' : 'L', inverse.ptr<char>(), info.ptr<int32_t>());
  check_info("cholesky_inverse", info, [](int32_t code) {
    return cat("The diagonal element ", code, " is zero, the inversion could not be completed.");
  });
  if (!is_complex(inverse.dtype())) return copied_out(inverse, out);
  const Tensor stored = upper ? ops::triu(inverse, 0) : ops::tril(inverse, 0);
  const Tensor strict = upper ? ops::triu(inverse, 1) : ops::tril(inverse, -1);
  return copied_out(column_major(ops::add(stored, adjoint(strict))), out);
}

Tensor cholesky_inverse_backward(const Tensor& grad, const Tensor& factor, bool upper,
                                 const Tensor& inverse) {
  const AllBits all_bits;
  const Tensor both = ops::add(grad, adjoint(grad));
  const Tensor g = ops::neg(ops::matmul(ops::matmul(inverse, both), inverse));
  return upper ? ops::matmul(factor, g) : ops::matmul(g, factor);
}
}  // namespace

TL_KERNEL(linalg_cholesky_ex, cholesky_ex)
TL_KERNEL(linalg_cholesky, linalg_cholesky)
TL_KERNEL(cholesky, cholesky)
TL_KERNEL(_cholesky_backward, cholesky_backward)
TL_KERNEL(cholesky_solve, cholesky_solve)
TL_KERNEL(_cholesky_solve_backward, cholesky_solve_backward)
TL_KERNEL(cholesky_inverse, cholesky_inverse)
TL_KERNEL(_cholesky_inverse_backward, cholesky_inverse_backward)

}  // namespace tl

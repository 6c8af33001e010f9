// Triangular systems, by the BLAS of LAPACK's library.
#include "base/matmul_precision.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/linalg/matrices.h"
#include "ops/shared/copy.h"
#include "ops/shared/out.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
DimVector check_triangular(const Tensor& A, const Tensor& B, bool left) {
  check_square("linalg.solve_triangular", "A", A);
  check_matrix("linalg.solve_triangular", "B", B);
  check_decomposed("triangular_solve_cpu", A);
  check_same_dtype("linalg.solve_triangular", A, B);
  TL_CHECK(left ? rows_of(B) == last(A) : last(B) == last(A), Runtime,
           "linalg.solve_triangular: Incompatible shapes of A and B for the equation ",
           left ? "AX = B" : "XA = B", " (", rows_of(A), "x", last(A), " and ", rows_of(B), "x", last(B),
           ")");
  return broadcast_shapes(batch_of(A), batch_of(B));
}

// Triangles as trsm reads them: row-major ones are the transposes of column-major ones, and need no copy.
struct Triangles {
  Tensor matrices;
  bool row_major;
};

Triangles triangles(const Tensor& A, IntSpan batch) {
  const bool whole = std::ranges::equal(batch, batch_of(A));
  if (whole && A.is_contiguous()) return {A, true};
  return {as_column_major(A, with_matrix(batch, rows_of(A), last(A))), false};
}

Tensor solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular,
                        Out out) {
  const DimVector batch = check_triangular(A, B, left);
  const Tensor x = column_major(B, with_matrix(batch, rows_of(B), last(B)));
  if (x.is_meta() || x.numel() == 0) return copied_out(x, out);
  const Triangles from = triangles(A, batch);
  const cpu::TriangularSolve how{left, upper != from.row_major, unitriangular, from.row_major ? 'T' : 'N'};
  const lapack::Library& library = lapack::require("linalg.solve_triangular");
  const lapack::SingleThreaded single(library);
  cpu::trsm(lapack_batch(library, x), how, from.matrices.ptr<char>(), x.ptr<char>());
  return copied_out(x, out);
}

Tensor triangle_of(const Tensor& t, bool upper, bool unitriangular) {
  return upper ? ops::triu(t, unitriangular) : ops::tril(t, -static_cast<int64_t>(unitriangular));
}

// g_B = A^-H g and g_A = -g_B X^H (X^H on the left: -X^H g_B) within the triangle.
std::tuple<Tensor, Tensor> solve_triangular_backward(const SolveTriangularBackwardArgs& a) {
  const auto& [grad, A, X, upper, left, unitriangular, needs_a, needs_b] = a;
  const AllBits all_bits;
  if (!needs_a && !needs_b) return {};
  const Tensor g = ops::linalg_solve_triangular(adjoint(A), grad, !upper, left, unitriangular);
  if (!needs_a) return {Tensor(), g};
  const Tensor product = ops::neg(left ? ops::matmul(g, adjoint(X)) : ops::matmul(adjoint(X), g));
  const Tensor triangle = triangle_of(product, upper, unitriangular);
  return {ops::sum_to_size(triangle, A.sizes()), needs_b ? g : Tensor()};
}

using Pair = std::tuple<Tensor, Tensor>;

Pair triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transpose, bool unitriangular,
                      Out out, Out out_a) {
  static WarnOnce deprecated;
  deprecated(
      "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular: "
      "torch.triangular_solve(B, A).solution is torch.linalg.solve_triangular(A, B, upper=True)");
  TL_CHECK(self.dim() >= 2 && A.dim() >= 2, Runtime,
           "torch.triangular_solve: Expected b and A to have at least 2 dimensions, but they have ",
           self.dim(), " and ", A.dim());
  const Tensor system = transpose ? ops::transpose_int(A, -2, -1) : A;
  const Tensor x = ops::linalg_solve_triangular(system, self, upper != transpose, true, unitriangular);
  const DimVector batch = broadcast_shapes(batch_of(A), batch_of(self));
  const Tensor copy = columns_first(ops::expand(A, with_matrix(batch, rows_of(A), last(A))));
  return {copied_out(x, out), copied_out(copy, out_a)};
}
}  // namespace

TL_KERNEL(linalg_solve_triangular, solve_triangular)
TL_KERNEL(_solve_triangular_backward, solve_triangular_backward)
TL_KERNEL(triangular_solve, triangular_solve)

}  // namespace tl

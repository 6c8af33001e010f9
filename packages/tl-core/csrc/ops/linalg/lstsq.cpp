// Least squares by LAPACK, and the gradient of the solution through the pseudoinverse.
#include <limits>

#include "base/matmul_precision.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/linalg/matrices.h"
#include "ops/shared/copy.h"
#include "ops/shared/elements.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/out.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Quadruple = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using lapack::Routine;

Routine driver_of(std::optional<std::string_view> driver) {
  const std::string_view name = driver.value_or("gelsy");
  if (name == "gels") return Routine::Gels;
  if (name == "gelsy") return Routine::Gelsy;
  if (name == "gelsd") return Routine::Gelsd;
  TL_CHECK(name == "gelss", Runtime,
           "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got ", name);
  return Routine::Gelss;
}

void check_system(const Tensor& A, const Tensor& B, bool vectors) {
  check_matrix("torch.linalg.lstsq", "input", A);
  check_decomposed("linalg_lstsq_cpu", A);
  TL_CHECK(B.dim() >= 1, Runtime, "torch.linalg.lstsq: other must have at least 1 dimension.");
  TL_CHECK(A.dim() - B.dim() <= 1, Runtime,
           "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - "
           "other.dim()) <= "
           "1");
  TL_CHECK(rows_of(A) == (vectors ? last(B) : rows_of(B)), Runtime,
           "torch.linalg.lstsq: input.size(-2) should match ", vectors ? "other.size(-1)" : "other.size(-2)");
  TL_CHECK(A.dtype() == B.dtype(), Runtime,
           "torch.linalg.lstsq: Expected input and other to have the same dtype, but got ",
           scalar_type_name(A.dtype()), " and ", scalar_type_name(B.dtype()));
}

// The sums of squares of what the solution leaves, for full rank and more equations than unknowns.
Tensor residuals_of(const Tensor& rhs, const Tensor& ranks, int64_t rows, int64_t columns, DType real) {
  const bool full =
      rows > columns &&
      (!ranks.numel() || *elements_of<bool>("linalg.lstsq", ops::all(ops::eq(ranks, Scalar(columns))), 1));
  if (!full) return empty(DimVector{0}, {real, rhs.device()});
  const Tensor rest = ops::abs(ops::narrow(rhs, -2, columns, rows - columns));
  return ops::sum_dim_IntList(ops::mul(rest, rest), DimVector{-2});
}

struct Solved {
  Tensor rhs, ranks, values;
};

Solved run_driver(const Tensor& A, const Tensor& B, IntSpan batch, Routine driver, double rcond) {
  const int64_t m = rows_of(A), n = last(A), columns = last(B), few = std::min(m, n);
  const DType real = to_real(A.dtype());
  Solved s{empty_column_major(with_matrix(batch, std::max(m, n), columns), {A.dtype(), A.device()}),
           empty(batch, {DType::Int64, A.device()}), empty(with_vector(batch, few), {real, A.device()})};
  if (A.is_meta()) return s;
  fill(s.rhs, Scalar(int64_t{0}));
  fill(s.ranks, Scalar(int64_t{0}));
  fill(s.values, Scalar(int64_t{0}));
  copy_elements(ops::narrow(s.rhs, -2, 0, m), B);
  if (checked_numel(batch) == 0 || few == 0 || columns == 0) return s;
  const lapack::Library& library = lapack::require("linalg.lstsq");
  const lapack::SingleThreaded single(library);
  const Tensor a = column_major(A, with_matrix(batch, m, n)), info = zero_info(batch, A.device());
  cpu::least_squares(lapack_batch(library, a), {driver, columns, rcond}, a.ptr<char>(), s.rhs.ptr<char>(),
                     s.ranks.ptr<int64_t>(), s.values.ptr<char>(), info.ptr<int32_t>());
  check_info("torch.linalg.lstsq", info, [](int32_t code) {
    return cat(
        "The least squares solution could not be computed because the input matrix does not have full rank "
        "(error code: ",
        code, ").");
  });
  return s;
}

// Matrices only, and the driver's name is known.
Quadruple lstsq_matrices(const Tensor& A, const Tensor& B, double rcond, std::string_view driver) {
  const Routine routine = driver_of(driver);
  const DimVector batch = broadcast_shapes(batch_of(A), batch_of(B));
  const Solved s = run_driver(A, B, batch, routine, rcond);
  const Tensor nothing = empty(DimVector{0}, {DType::Int64, A.device()});
  const Tensor ranks = routine == Routine::Gels ? nothing : s.ranks;
  const bool singular = routine == Routine::Gelsd || routine == Routine::Gelss;
  const DType real = to_real(A.dtype());
  const Tensor residuals = A.is_meta() || routine == Routine::Gelsy
                               ? empty(DimVector{0}, {real, A.device()})
                               : residuals_of(s.rhs, ranks, rows_of(A), last(A), real);
  return {ops::narrow(s.rhs, -2, 0, last(A)), residuals, ranks,
          singular ? s.values : empty(DimVector{0}, {real, A.device()})};
}

Quadruple lstsq(const Tensor& self, const Tensor& b, std::optional<double> rcond,
                std::optional<std::string_view> driver, Out out, Out out_residuals, Out out_rank,
                Out out_values) {
  const bool vectors = holds_vectors(self, b);
  check_system(self, b, vectors);
  driver_of(driver);
  const double eps = to_real(self.dtype()) == DType::Float32 ? 0x1p-23 : 0x1p-52;
  const double least = rcond.value_or(eps * static_cast<double>(std::max(rows_of(self), last(self))));
  const Tensor B = vectors ? ops::unsqueeze(b, -1) : b;
  auto [x, residuals, rank, values] = ops::_linalg_lstsq(self, B, least, driver.value_or("gelsy"));
  if (vectors) x = ops::squeeze_dim(x, -1);
  return {copied_out(x, out), copied_out(residuals, out_residuals), copied_out(rank, out_rank),
          copied_out(values, out_values)};
}

// Golub and Pereyra, The Differentiation of Pseudo-Inverses and Nonlinear Least Squares Problems, 1973: the
// gradient of A from that of its pseudoinverse P.
Tensor pinv_backward(const Tensor& grad, const Tensor& P, const Tensor& A) {
  const AllBits all_bits;
  const Tensor PH = adjoint(P), gH = adjoint(grad);
  if (rows_of(A) <= last(A)) {
    const Tensor K = ops::matmul(gH, P), KPH = ops::matmul(K, PH);
    const Tensor first = ops::sub(KPH, adjoint(ops::matmul(P, K)));
    const Tensor second = ops::matmul(ops::matmul(A, P), KPH);
    return ops::add(ops::sub(first, second),
                    ops::matmul(ops::matmul(PH, P), ops::sub(gH, ops::matmul(K, A))));
  }
  const Tensor K = ops::matmul(P, gH), PHK = ops::matmul(PH, K);
  const Tensor first = ops::sub(PHK, adjoint(ops::matmul(K, P)));
  const Tensor second = ops::matmul(ops::matmul(ops::sub(gH, ops::matmul(A, K)), P), PH);
  return ops::sub(ops::add(first, second), ops::matmul(ops::matmul(PHK, P), A));
}

// Of the residuals |A X - B|^2 of each column only the outer dependence counts: X makes them least.
Tensor residual_gradient(const Tensor& grad, const Tensor& A, const Tensor& B, const Tensor& X) {
  const Tensor rest = ops::sub(ops::matmul(A, X), B);
  return ops::mul(rest, ops::mul(ops::unsqueeze(grad, -2), Scalar(2.0)));
}

// X = P B with the pseudoinverse P.
Tensor lstsq_backward_a(OptTensor grad, OptTensor grad_residuals, const Tensor& A, const Tensor& B,
                        const Tensor& X) {
  const AllBits all_bits;
  Tensor result;
  if (grad) result = pinv_backward(ops::matmul(*grad, adjoint(B)), ops::linalg_pinv(A), A);
  if (grad_residuals && X.numel() && grad_residuals->numel()) {
    const Tensor part = ops::matmul(residual_gradient(*grad_residuals, A, B, X), adjoint(X));
    result = result ? ops::add(result, part) : part;
  }
  return result ? ops::sum_to_size(result, A.sizes()) : ops::zeros_like(A);
}

Tensor lstsq_backward_b(OptTensor grad, OptTensor grad_residuals, const Tensor& A, const Tensor& B,
                        const Tensor& X) {
  const AllBits all_bits;
  Tensor result;
  if (grad) result = ops::matmul(adjoint(ops::linalg_pinv(A)), *grad);
  if (grad_residuals && grad_residuals->numel()) {
    const Tensor part = ops::neg(residual_gradient(*grad_residuals, A, B, X));
    result = result ? ops::add(result, part) : part;
  }
  return result ? ops::sum_to_size(result, B.sizes()) : ops::zeros_like(B);
}

// V diag(1 / s) U^H of the singular values above the tolerance.
Tensor pinv_values(const Tensor& A, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  const AllBits all_bits;
  if (hermitian) {
    const auto [values, vectors] = ops::_linalg_eigh(A, "L", true);
    const Tensor sizes = ops::abs(values);
    const Tensor limit = ops::maximum(atol, ops::mul(rtol, ops::amax(sizes, DimVector{-1})));
    const Tensor inverse = ops::where_self(ops::gt(sizes, ops::unsqueeze(limit, -1)), ops::reciprocal(values),
                                           ops::zeros_like(values));
    return ops::matmul(ops::mul(vectors, ops::unsqueeze(inverse, -2)), adjoint(vectors));
  }
  const auto [U, S, Vh] = ops::_linalg_svd(A);
  const Tensor limit = ops::maximum(atol, ops::mul(rtol, ops::amax(S, DimVector{-1})));
  const Tensor inverse =
      ops::where_self(ops::gt(S, ops::unsqueeze(limit, -1)), ops::reciprocal(S), ops::zeros_like(S));
  return ops::matmul(ops::mul(adjoint(Vh), ops::unsqueeze(inverse, -2)), adjoint(U));
}

Tensor pinv(const Tensor& A, OptTensor atol, OptTensor rtol, bool hermitian) {
  hermitian ? check_square("linalg.pinv", "A", A) : check_matrix("linalg.pinv", "A", A);
  check_decomposed("linalg_svd_cpu", A);
  const DType real = to_real(A.dtype());
  if (A.is_meta() || A.numel() == 0)
    return empty(with_matrix(batch_of(A), last(A), rows_of(A)), {A.dtype(), A.device()});
  const auto number = [&](double x) {
    const Tensor t = empty(DimVector{}, {real, A.device()});
    fill(t, Scalar(x));
    return t;
  };
  const double eps = real == DType::Float32 ? 0x1p-23 : 0x1p-52;
  const Tensor least = atol ? ops::to_dtype(*atol, real) : number(0.0);
  Tensor share =
      rtol ? ops::to_dtype(*rtol, real) : number(eps * static_cast<double>(std::max(rows_of(A), last(A))));
  if (!rtol && atol) share = ops::where_self(ops::gt(least, Scalar(0.0)), ops::zeros_like(least), share);
  return pinv_values(A, least, share, hermitian);
}

Tensor linalg_pinv(const Tensor& A, OptTensor atol, OptTensor rtol, bool hermitian, Out out) {
  return copied_out(ops::_linalg_pinv(A, atol, rtol, hermitian), out);
}
}  // namespace

TL_KERNEL(_linalg_lstsq, lstsq_matrices)
TL_KERNEL(linalg_lstsq, lstsq)
TL_KERNEL(_lstsq_backward_a, lstsq_backward_a)
TL_KERNEL(_lstsq_backward_b, lstsq_backward_b)
TL_KERNEL(_pinv_backward, pinv_backward)
TL_KERNEL(_linalg_pinv, pinv)
TL_KERNEL(linalg_pinv, linalg_pinv)

}  // namespace tl

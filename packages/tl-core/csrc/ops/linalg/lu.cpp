// LU factorization with partial pivoting, by LAPACK, and what is computed from it: determinants, inverses,
// solutions.
#include <array>
#include <numeric>

#include "base/matmul_precision.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/linalg/matrices.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "ops/shared/out.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

void check_pivoting(const char* name, bool pivot) {
  TL_CHECK(pivot, Runtime, name, ": LU without pivoting is not implemented on the CPU");
}

Tensor small_lu(const Tensor& A, const Tensor& pivots, const Tensor& info) {
  Tensor dense;
  const Tensor lu = empty_column_major(A.sizes(), {A.dtype(), A.device()});
  cpu::small_matrix_kernels(A.dtype()).getrf(small_matrices(A, dense), lu.ptr<char>(), pivots.ptr<int32_t>(),
                                             info.ptr<int32_t>());
  return lu;
}

Tensor lapack_lu(const Tensor& A, const Tensor& pivots, const Tensor& info) {
  const lapack::Library& library = lapack::require("linalg.lu_factor");
  const lapack::SingleThreaded single(library);
  const Tensor lu = column_major(A);
  cpu::getrf(lapack_batch(library, lu), lu.ptr<char>(), pivots.ptr<int32_t>(), info.ptr<int32_t>());
  return lu;
}

Triple lu_factor_ex(const Tensor& A, bool pivot, bool check_errors, Out out, Out out_pivots, Out out_info) {
  check_decomposed("lu_cpu", A);
  check_matrix("torch.lu_factor", "A", A);
  check_pivoting("linalg.lu_factor", pivot);
  const Tensor info = zero_info(batch_of(A), A.device());
  const Tensor pivots =
      empty(with_vector(batch_of(A), std::min(rows_of(A), last(A))), {DType::Int32, A.device()});
  const bool small = rows_of(A) == last(A) && has_small_kernels(A);
  const Tensor lu = A.is_meta() || !A.numel() ? column_major(A)
                    : small                   ? small_lu(A, pivots, info)
                                              : lapack_lu(A, pivots, info);
  if (check_errors)
    check_info("torch.linalg.lu_factor_ex", info, [](int32_t code) {
      return cat("U[", code, ",", code,
                 "] is zero and using it on lu_solve would result in a division by zero.");
    });
  return {copied_out(lu, out), copied_out(pivots, out_pivots), copied_out(info, out_info)};
}

Pair lu_factor(const Tensor& A, bool pivot, Out out, Out out_pivots) {
  const auto [lu, pivots, info] = ops::linalg_lu_factor_ex(A, pivot, false);
  check_info("torch.linalg.lu_factor", info, [](int32_t code) {
    return cat(
        "U[", code, ",", code,
        "] is zero and using it on lu_solve would result in a division by zero. If you still want to perform "
        "the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
  });
  return {copied_out(lu, out), copied_out(pivots, out_pivots)};
}

Triple lu_with_info(const Tensor& self, bool pivot, bool check_errors) {
  return ops::linalg_lu_factor_ex(self, pivot, check_errors);
}

// L, M x k with ones on the diagonal, and U, k x N, of the compact form.
Pair triangles(const Tensor& lu) {
  const int64_t rows = rows_of(lu), columns = last(lu), k = std::min(rows, columns);
  const Tensor one = ops::eye_m(rows, k, {.dtype = lu.dtype(), .device = lu.device()});
  return {ops::add(ops::tril(ops::narrow(lu, -1, 0, k), -1), one), ops::triu(ops::narrow(lu, -2, 0, k), 0)};
}

// P L U = A (Seeger et al., Auto-Differentiating Linear Algebra, 2017, extended to rectangles): what the
// columns or rows beyond the square give goes to the square as well.
Tensor lu_backward_square(const Tensor& gL, const Tensor& gU, const Tensor& L, const Tensor& U) {
  const Tensor inner = ops::add(ops::tril(gL, -1), ops::triu(gU, 0));
  const Tensor left = ops::linalg_solve_triangular(adjoint(L), inner, true, true, true);  // L^-H inner
  return ops::linalg_solve_triangular(adjoint(U), left, false, false, false);             // left U^-H
}

// With A = P L U: the gradient of A is P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H for square matrices; the
// rectangular parts follow by block elimination.
Tensor lu_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots) {
  const AllBits all_bits;
  check_matrix("lu_backward", "LU", LU);
  const int64_t rows = rows_of(LU), columns = last(LU), k = std::min(rows, columns);
  const auto [L, U] = triangles(LU);
  const Tensor P = std::get<0>(ops::lu_unpack(LU, pivots, false, true));
  const Tensor gL = ops::tril(ops::narrow(grad, -1, 0, k), -1),
               gU = ops::triu(ops::narrow(grad, -2, 0, k), 0);
  Tensor result;
  if (rows == columns) {
    result = lu_backward_square(ops::matmul(adjoint(L), gL), ops::matmul(gU, adjoint(U)), L, U);
  } else if (rows < columns) {
    const int64_t rest = columns - k;
    const Tensor U1 = ops::narrow(U, -1, 0, k), U2 = ops::narrow(U, -1, k, rest);
    const Tensor gU1 = ops::narrow(gU, -1, 0, k), gU2 = ops::narrow(gU, -1, k, rest);
    const Tensor lower = ops::sub(ops::matmul(adjoint(L), gL), ops::matmul(gU2, adjoint(U2)));
    const std::array<Tensor, 2> parts{lu_backward_square(lower, ops::matmul(gU1, adjoint(U1)), L, U1),
                                      ops::linalg_solve_triangular(adjoint(L), gU2, true, true, true)};
    result = ops::cat(parts, -1);
  } else {
    const int64_t rest = rows - k;
    const Tensor L1 = ops::narrow(L, -2, 0, k), L2 = ops::narrow(L, -2, k, rest);
    const Tensor gL1 = ops::narrow(gL, -2, 0, k), gL2 = ops::narrow(gL, -2, k, rest);
    const Tensor upper = ops::sub(ops::matmul(gU, adjoint(U)), ops::matmul(adjoint(L2), gL2));
    const std::array<Tensor, 2> parts{lu_backward_square(ops::matmul(adjoint(L1), gL1), upper, L1, U),
                                      ops::linalg_solve_triangular(adjoint(U), gL2, false, false, false)};
    result = ops::cat(parts, -2);
  }
  return ops::matmul(P, result);
}

void check_pivots(const int32_t* pivots, int64_t count, int64_t rows) {
  for (int64_t i = 0; i < count; ++i)
    TL_CHECK(
        pivots[i] >= 1 && pivots[i] <= rows, Runtime,
        "pivots passed to lu_unpack must be greater or equal to 1 and lie between 1 and LU.size(-2). They "
        "count rows from 1, as lu_factor gives them; got ",
        pivots[i], " for ", rows, " rows. Did you forget to call lu_factor?");
}

// The permutation that the exchanges of rows make, as a matrix P with P L U = A.
Tensor permutation(const Tensor& pivots, IntSpan batch, int64_t rows, DType dtype) {
  const Tensor P = empty(with_matrix(batch, rows, rows), {dtype, pivots.device()});
  if (P.is_meta() || P.numel() == 0) return P;
  fill(P, Scalar(int64_t{0}));
  const Tensor dense = to_contiguous(pivots);
  const int64_t exchanges = last(dense), count = checked_numel(batch), item = item_size(dtype);
  const Tensor one = empty(DimVector{}, {dtype, {}});
  fill(one, Scalar(int64_t{1}));
  std::vector<int64_t> order(static_cast<size_t>(rows));
  for (int64_t i = 0; i < count; ++i) {
    std::iota(order.begin(), order.end(), 0);
    const int32_t* swaps = dense.ptr<int32_t>() + i * exchanges;
    check_pivots(swaps, exchanges, rows);
    for (int64_t k = 0; k < exchanges; ++k)
      std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(swaps[k] - 1)]);
    char* matrix = P.ptr<char>() + i * rows * rows * item;
    for (int64_t k = 0; k < rows; ++k)
      std::copy_n(one.ptr<char>(), item, matrix + (order[static_cast<size_t>(k)] * rows + k) * item);
  }
  return P;
}

void check_unpacked(const Tensor& LU, const Tensor& pivots, bool unpack_pivots) {
  TL_CHECK(LU.dim() >= 2, Runtime,
           "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: ", LU.sizes(), " instead");
  if (!unpack_pivots) return;
  TL_CHECK(pivots.dtype() == DType::Int32, Runtime,
           "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
           "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor");
  const DimVector expected = with_vector(batch_of(LU), std::min(rows_of(LU), last(LU)));
  TL_CHECK(std::ranges::equal(pivots.sizes(), expected), Runtime,
           "torch.lu_unpack: expected LU_pivots of shape ", IntSpan(expected), ", got ", pivots.sizes());
}

Triple lu_unpack(const Tensor& LU, const Tensor& pivots, bool unpack_data, bool unpack_pivots, Out out_p,
                 Out out_l, Out out_u) {
  check_unpacked(LU, pivots, unpack_pivots);
  const Tensor nothing = empty(DimVector{0}, {LU.dtype(), LU.device()});
  const Tensor P = unpack_pivots ? permutation(pivots, batch_of(LU), rows_of(LU), LU.dtype()) : nothing;
  if (!unpack_data) return {copied_out(P, out_p), copied_out(nothing, out_l), copied_out(nothing, out_u)};
  const auto [L, U] = triangles(LU);
  return {copied_out(P, out_p), copied_out(L, out_l), copied_out(U, out_u)};
}

// The gradients of L and U, side by side in the compact form.
Tensor lu_unpack_backward(OptTensor grad_L, OptTensor grad_U, const Tensor& LU) {
  const AllBits all_bits;
  check_matrix("lu_unpack_backward", "LU", LU);
  const int64_t rows = rows_of(LU), columns = last(LU), k = std::min(rows, columns);
  Tensor result = ops::zeros_like(LU);
  if (grad_L) {
    const Tensor lower = ops::tril(*grad_L, -1);
    result = ops::add(result, columns > k ? ops::constant_pad_nd(lower, DimVector{0, columns - k}) : lower);
  }
  if (grad_U) {
    const Tensor upper = ops::triu(*grad_U, 0);
    result = ops::add(result, rows > k ? ops::constant_pad_nd(upper, DimVector{0, 0, 0, rows - k}) : upper);
  }
  return result;
}

Triple lu(const Tensor& A, bool pivot, Out out_p, Out out_l, Out out_u) {
  check_decomposed("lu_cpu", A);
  check_matrix("linalg.lu", "A", A);
  const auto [factors, pivots, info] = ops::linalg_lu_factor_ex(A, pivot, false);
  const auto [P, L, U] = ops::lu_unpack(factors, pivots, true, true);
  return {copied_out(P, out_p), copied_out(L, out_l), copied_out(U, out_u)};
}

// ---- solutions --------------------------------------------------------------------------------------------
// By one kernel, where nothing but the result is wanted.
Tensor lapack_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool adjoint_system) {
  const lapack::Library& library = lapack::require("linalg.lu_solve");
  const lapack::SingleThreaded single(library);
  const DimVector batch = broadcast_shapes(batch_of(LU), batch_of(B));
  const Tensor swaps = to_contiguous(ops::expand(pivots, with_vector(batch, last(pivots))));
  check_pivots(swaps.ptr<int32_t>(), swaps.numel(), last(LU));
  const Tensor lu = as_column_major(LU, with_matrix(batch, last(LU), last(LU)));
  const Tensor x = column_major(B, with_matrix(batch, rows_of(B), last(B)));
  cpu::getrs(lapack_batch(library, x), adjoint_system ? 'C' : 'N', lu.ptr<char>(), swaps.ptr<int32_t>(),
             x.ptr<char>());
  return x;
}

// Else as compositions, which autograd differentiates: A = P L U.
Tensor lu_solve_left(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool adjoint_system) {
  const bool plain = is_plain(LU) && is_plain(pivots) && is_plain(B);
  const bool known = has_known_values(LU) && has_known_values(pivots) && has_known_values(B);
  if (plain && known && LU.numel() && B.numel() && rows_of(B) == last(LU)) {
    check_decomposed("lu_solve_cpu", LU);
    return lapack_lu_solve(LU, pivots, B, adjoint_system);
  }
  const Tensor P = std::get<0>(ops::lu_unpack(ops::detach(LU), pivots, false, true));
  if (!adjoint_system) {
    const Tensor y = ops::matmul(ops::transpose_int(P, -2, -1), B);
    return ops::linalg_solve_triangular(LU, ops::linalg_solve_triangular(LU, y, false, true, true), true,
                                        true, false);
  }
  const Tensor H = ops::conj(ops::transpose_int(LU, -2, -1));
  const Tensor y = ops::linalg_solve_triangular(H, B, false, true, false);
  return columns_first(ops::matmul(P, ops::linalg_solve_triangular(H, y, true, true, true)));
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                       bool adjoint_system, Out out) {
  check_square("torch.linalg.lu_solve", "LU", LU);
  check_matrix("torch.linalg.lu_solve", "B", B);
  check_same_dtype("linalg.lu_solve", LU, B);
  TL_CHECK(pivots.dtype() == DType::Int32, Runtime,
           "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  TL_CHECK(std::ranges::equal(pivots.sizes(), with_vector(batch_of(LU), last(LU))), Runtime,
           "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix");
  if (left) return copied_out(lu_solve_left(LU, pivots, B, adjoint_system), out);
  // X A = B is A^H X^H = B^H.
  const Tensor transposed = ops::conj(ops::transpose_int(B, -2, -1));
  const Tensor x = lu_solve_left(LU, pivots, transposed, !adjoint_system);
  return copied_out(ops::conj(ops::transpose_int(x, -2, -1)), out);
}

Tensor lu_solve(const Tensor& self, const Tensor& data, const Tensor& pivots, Out out) {
  static WarnOnce deprecated;
  deprecated(
      "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve: torch.lu_solve(B, LU, pivots) is "
      "torch.linalg.lu_solve(LU, pivots, B)");
  return copied_out(ops::linalg_lu_solve(data, pivots, self, true, false), out);
}

std::string singular_diagonal(int32_t code) {
  return cat("The diagonal element ", code,
             " is zero, the inversion could not be completed because the input matrix is singular.");
}

Tensor small_inverse(const Tensor& A, const Tensor& info) {
  Tensor dense;
  const Tensor inverse = empty_column_major(A.sizes(), {A.dtype(), A.device()});
  cpu::small_matrix_kernels(A.dtype()).invert(small_matrices(A, dense), inverse.ptr<char>(),
                                              info.ptr<int32_t>());
  return inverse;
}

Tensor lapack_inverse(const Tensor& A, const Tensor& info) {
  const lapack::Library& library = lapack::require("linalg.inv");
  const lapack::SingleThreaded single(library);
  const Tensor inverse = column_major(A);
  const Tensor pivots = empty(with_vector(batch_of(A), last(A)), {DType::Int32, {}});
  const cpu::MatrixBatch batch = lapack_batch(library, inverse);
  cpu::getrf(batch, inverse.ptr<char>(), pivots.ptr<int32_t>(), info.ptr<int32_t>());
  cpu::getri(batch, inverse.ptr<char>(), pivots.ptr<int32_t>(), info.ptr<int32_t>());
  return inverse;
}

Pair inv_ex(const Tensor& A, bool check_errors, Out out, Out out_info) {
  check_square("linalg.inv", "A", A);
  check_decomposed("linalg_inv_cpu", A);
  const Tensor info = zero_info(batch_of(A), A.device());
  const bool small = has_small_kernels(A);
  const Tensor inverse = A.is_meta() || !A.numel() ? column_major(A)
                         : small                   ? small_inverse(A, info)
                                                   : lapack_inverse(A, info);
  if (check_errors) check_info("torch.linalg.inv_ex", info, singular_diagonal);
  return {copied_out(inverse, out), copied_out(info, out_info)};
}

Tensor linalg_inv(const Tensor& A, Out out) {
  const auto [inverse, info] = ops::linalg_inv_ex(A, false);
  check_info("linalg.inv", info, singular_diagonal);
  return copied_out(inverse, out);
}

Tensor inverse(const Tensor& self, Out out) { return copied_out(ops::linalg_inv(self), out); }

// ---- determinants -----------------------------------------------------------------------------------------
// 1 or -1 for each matrix: the sign of its permutation.
Tensor permutation_sign(const Tensor& pivots, DType dtype) {
  const int64_t n = last(pivots);
  const Tensor unmoved = ops::arange_start(Scalar(int64_t{1}), Scalar(n + 1),
                                           {.dtype = DType::Int32, .device = pivots.device()});
  const Tensor moves = ops::sum_dim_IntList(ops::ne(pivots, unmoved), DimVector{-1});
  return ops::to_dtype(
      ops::rsub(ops::mul(ops::remainder(moves, Scalar(int64_t{2})), Scalar(int64_t{2})), Scalar(int64_t{1})),
      dtype);
}

Triple det_with_factors(const Tensor& A, Out out, Out out_lu, Out out_pivots) {
  check_square("linalg.det", "A", A);
  check_decomposed("linalg_det_cpu", A);
  const auto [lu, pivots, info] = ops::linalg_lu_factor_ex(A, true, false);
  Tensor result;
  if (A.is_meta()) {
    result = empty(batch_of(A), {A.dtype(), A.device()});
  } else {
    const Tensor diagonal = ops::diagonal(lu, 0, -2, -1);
    result = ops::mul(ops::prod_dim_int(diagonal, -1), permutation_sign(pivots, A.dtype()));
  }
  return {copied_out(result, out), copied_out(lu, out_lu), copied_out(pivots, out_pivots)};
}

Tensor linalg_det(const Tensor& A, Out out) { return copied_out(std::get<0>(ops::_linalg_det(A)), out); }

Tensor scaled_identity(const Tensor& factors, const Tensor& like) {
  return ops::diag_embed(ops::expand(ops::unsqueeze(factors, -1), with_vector(batch_of(like), last(like))));
}

// g conj(det) A^-H; a singular matrix counts as having the smallest step in place of zeros on U's diagonal.
Tensor det_backward(const Tensor& grad, const Tensor& result, const Tensor& A, const Tensor& LU,
                    const Tensor& pivots) {
  const AllBits all_bits;
  check_square("det_backward", "A", A);
  const Tensor d = scaled_identity(ops::mul(grad, ops::conj_physical(result)), A);
  const Tensor zero = ops::eq(ops::diagonal(ops::detach(LU), 0, -2, -1), Scalar(0.0));
  if (has_known_values(zero) && !ops::_local_scalar_dense(ops::any(zero)).to_bool())
    return ops::_linalg_solve(adjoint(A), d);
  const double eps = to_real(A.dtype()) == DType::Float32 ? 0x1p-23 : 0x1p-52;
  const Tensor step = ops::mul(ops::to_dtype(zero, A.dtype()), Scalar(eps));
  return ops::linalg_lu_solve(ops::add(LU, ops::diag_embed(step)), pivots, d, true, true);
}

using Quadruple = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Quadruple slogdet_with_factors(const Tensor& A, Out out_sign, Out out_log, Out out_lu, Out out_pivots) {
  check_square("linalg.slogdet", "A", A);
  check_decomposed("linalg_slogdet_cpu", A);
  const auto [lu, pivots, info] = ops::linalg_lu_factor_ex(A, true, false);
  Tensor sign = empty(batch_of(A), {A.dtype(), A.device()});
  Tensor log = empty(batch_of(A), {to_real(A.dtype()), A.device()});
  if (!A.is_meta()) {
    const Tensor diagonal = ops::diagonal(lu, 0, -2, -1);
    sign = ops::mul(ops::prod_dim_int(ops::sgn(diagonal), -1), permutation_sign(pivots, A.dtype()));
    log = ops::sum_dim_IntList(ops::log(ops::abs(diagonal)), DimVector{-1});
  }
  return {copied_out(sign, out_sign), copied_out(log, out_log), copied_out(lu, out_lu),
          copied_out(pivots, out_pivots)};
}

// (g_log - i Im(conj(g_sign) sign)) A^-H
Tensor slogdet_backward(OptTensor grad_sign, OptTensor grad_log, const Tensor& A, const Tensor& sign) {
  const AllBits all_bits;
  check_square("slogdet_backward", "A", A);
  Tensor g = grad_log ? ops::mul(*grad_log, ops::ones_like(sign)) : ops::zeros_like(sign);
  if (grad_sign && is_complex(A.dtype())) {
    const Tensor turn = ops::imag(ops::mul(ops::conj_physical(*grad_sign), sign));
    g = ops::sub(g, ops::complex(ops::zeros_like(turn), turn));
  }
  return ops::_linalg_solve(adjoint(A), scaled_identity(g, A));
}

Pair slogdet(const Tensor& A, Out out_sign, Out out_log) {
  const auto [sign, log, lu, pivots] = ops::_linalg_slogdet(A);
  return {copied_out(sign, out_sign), copied_out(log, out_log)};
}

Tensor logdet(const Tensor& self) {
  check_square("logdet", "A", self);
  const auto [sign, log, lu, pivots] = ops::_linalg_slogdet(self);
  if (is_complex(self.dtype())) return ops::add(ops::log(sign), log);
  const Tensor none = ops::lt(sign, Scalar(0.0));
  return ops::masked_fill_Scalar(log, none, Scalar(std::numeric_limits<double>::quiet_NaN()));
}
}  // namespace

TL_KERNEL(linalg_lu_factor_ex, lu_factor_ex)
TL_KERNEL(linalg_lu_factor, lu_factor)
TL_KERNEL(_lu_with_info, lu_with_info)
TL_KERNEL(_lu_backward, lu_backward)
TL_KERNEL(lu_unpack, lu_unpack)
TL_KERNEL(_lu_unpack_backward, lu_unpack_backward)
TL_KERNEL(linalg_lu, lu)
TL_KERNEL(linalg_lu_solve, linalg_lu_solve)
TL_KERNEL(lu_solve, lu_solve)
TL_KERNEL(linalg_inv_ex, inv_ex)
TL_KERNEL(linalg_inv, linalg_inv)
TL_KERNEL(inverse, inverse)
TL_KERNEL(_linalg_det, det_with_factors)
TL_KERNEL(_linalg_det_backward, det_backward)
TL_KERNEL(linalg_det, linalg_det)
TL_KERNEL(_linalg_slogdet, slogdet_with_factors)
TL_KERNEL(_linalg_slogdet_backward, slogdet_backward)
TL_KERNEL(linalg_slogdet, slogdet)
TL_KERNEL(logdet, logdet)

}  // namespace tl

// The factorization of symmetric indefinite matrices (Bunch and Kaufman, 1977), by LAPACK.
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/linalg/matrices.h"
#include "ops/shared/copy.h"
#include "ops/shared/elements.h"
#include "ops/shared/out.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

std::string zero_block(int32_t code) {
  return cat("The factorization has been completed, but the block D[", code, ",", code,
             "] is exactly zero: D is singular, and using it to solve a system would divide by zero.");
}

Triple ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors, Out out, Out out_pivots,
                     Out out_info) {
  check_square("torch.linalg.ldl_factor_ex", "A", self);
  check_decomposed("ldl_factor_cpu", self);
  const Tensor factors = column_major(self), info = zero_info(batch_of(self), self.device());
  const Tensor pivots = empty(with_vector(batch_of(self), last(self)), {DType::Int32, self.device()});
  if (!self.is_meta() && self.numel()) {
    const lapack::Library& library = lapack::require("linalg.ldl_factor");
    const lapack::SingleThreaded single(library);
    ops::tril_(factors);
    cpu::sytrf(lapack_batch(library, factors), hermitian, factors.ptr<char>(), pivots.ptr<int32_t>(),
               info.ptr<int32_t>());
  }
  if (check_errors) check_info("torch.linalg.ldl_factor_ex", info, zero_block);
  return {copied_out(factors, out), copied_out(pivots, out_pivots), copied_out(info, out_info)};
}

Pair ldl_factor(const Tensor& self, bool hermitian, Out out, Out out_pivots) {
  const auto [factors, pivots, info] = ops::linalg_ldl_factor_ex(self, hermitian, false);
  check_info("torch.linalg.ldl_factor", info, zero_block);
  return {copied_out(factors, out), copied_out(pivots, out_pivots)};
}

void check_pivots(const Tensor& LD, const Tensor& pivots) {
  TL_CHECK(std::ranges::equal(pivots.sizes(), LD.sizes().first(static_cast<size_t>(LD.dim() - 1))), Runtime,
           "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots "
           "with shape ",
           pivots.sizes(), " instead");
  TL_CHECK(pivots.dtype() == DType::Int32, Runtime,
           "torch.linalg.ldl_solve: Expected pivots to be of dtype torch.int32, got ",
           dtype_name(pivots.dtype()));
  if (pivots.is_meta() || !pivots.numel()) return;
  const int64_t n = last(LD);
  const Tensor rows = ops::abs(pivots);
  const auto hold = [](const Tensor& t) { return *elements_of<bool>("ldl_solve", ops::all(t), 1); };
  const bool inside = hold(ops::ge(rows, Scalar(int64_t{1}))) && hold(ops::le(rows, Scalar(n)));
  TL_CHECK(inside, Runtime, "torch.linalg.ldl_solve: Expected pivots to hold row numbers from 1 to ", n);
}

Tensor ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian, Out out) {
  check_square("torch.linalg.ldl_solve", "LD", LD);
  check_matrix("torch.linalg.ldl_solve", "B", B);
  check_decomposed("ldl_solve_cpu", LD);
  check_same_dtype("torch.linalg.ldl_solve", LD, B);
  check_pivots(LD, pivots);
  TL_CHECK(rows_of(B) == last(LD), Runtime,
           "torch.linalg.ldl_solve: Incompatible shapes of LD and B: ", LD.sizes(), " and ", B.sizes());
  const DimVector batch = broadcast_shapes(batch_of(LD), batch_of(B));
  const Tensor x = column_major(B, with_matrix(batch, rows_of(B), last(B)));
  if (x.is_meta() || x.numel() == 0) return copied_out(x, out);
  const int64_t n = last(LD);
  const Tensor factors = column_major(LD, with_matrix(batch, n, n));
  const Tensor rows = to_contiguous(ops::expand(pivots, with_vector(batch, n)));
  const lapack::Library& library = lapack::require("linalg.ldl_solve");
  const lapack::SingleThreaded single(library);
  cpu::sytrs(lapack_batch(library, x), hermitian, factors.ptr<char>(), rows.ptr<int32_t>(), x.ptr<char>());
  return copied_out(x, out);
}
}  // namespace

TL_KERNEL(linalg_ldl_factor_ex, ldl_factor_ex)
TL_KERNEL(linalg_ldl_factor, ldl_factor)
TL_KERNEL(linalg_ldl_solve, ldl_solve)

}  // namespace tl

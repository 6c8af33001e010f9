// Eigenvalues and eigenvectors, by LAPACK: of Hermitian matrices (divide and conquer) and of general ones.
#include "base/matmul_precision.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/ties.h"
#include "ops/shared/copy.h"
#include "ops/shared/elements.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "ops/shared/out.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Pair = std::tuple<Tensor, Tensor>;

void check_triangle(std::string_view uplo) {
  const char c = uplo.empty() ? '\0' : static_cast<char>(uplo[0] & ~0x20);
  TL_CHECK(uplo.size() == 1 && (c == 'U' || c == 'L'), Runtime,
           "Expected UPLO argument to be 'L' or 'U', but got ", uplo);
}

Pair eigh_factors(const Tensor& A, std::string_view uplo, bool compute_v, Out out, Out out_v) {
  check_decomposed("linalg_eigh_cpu", A);
  check_square("linalg.eigh", "A", A);
  check_triangle(uplo);
  const TensorOptions like{A.dtype(), A.device()};
  const Tensor values = empty(with_vector(batch_of(A), last(A)), {to_real(A.dtype()), A.device()});
  Tensor vectors = column_major(A);
  if (!A.is_meta() && A.numel()) {
    const lapack::Library& library = lapack::require("linalg.eigh");
    const lapack::SingleThreaded single(library);
    const Tensor info = zero_info(batch_of(A), A.device());
    cpu::syevd(lapack_batch(library, vectors), static_cast<char>(uplo[0] & ~0x20), compute_v,
               vectors.ptr<char>(), values.ptr<char>(), info.ptr<int32_t>());
    check_info("linalg.eigh", info, [](int32_t code) {
      return cat(
          "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
          "repeated "
          "eigenvalues (error code: ",
          code, ").");
    });
  }
  if (!compute_v) vectors = empty(DimVector{0}, like);
  return {copied_out(values, out), copied_out(vectors, out_v)};
}

// 1 / (l_j - l_i) off the diagonal, 0 on it; of pairs that the function does not read, a number that equal
// values leave finite.
Tensor inverse_gaps(const Tensor& values, const Tensor& product) {
  const Tensor gaps = ops::sub(ops::unsqueeze(values, -2), ops::unsqueeze(values, -1));
  const Tensor one = ops::diag_embed(ops::ones_like(values));
  const Tensor read =
      ops::where_self(unread_pairs(ops::eq(product, Scalar(0))), Scalar(1.0), ops::add(gaps, one));
  return ops::sub(ops::reciprocal(read), one);
}

// V (diag(g_L) + (V^H g_V) / (l_j - l_i)) V^H (Giles, Collected matrix derivative results, 2008).
Tensor eigh_backward(OptTensor grad_L, OptTensor grad_V, const Tensor& L, const Tensor& V) {
  const AllBits all_bits;
  const Tensor VH = adjoint(V);
  if (!grad_V) {
    const Tensor scaled = ops::mul(V, ops::unsqueeze(grad_L ? *grad_L : ops::zeros_like(L), -2));
    return ops::matmul(scaled, VH);
  }
  const Tensor product = ops::matmul(VH, *grad_V);
  check_phase_invariant("linalg_eigh_backward", "eigenvectors", ops::diagonal(product, 0, -2, -1));
  Tensor inner = ops::mul(product, inverse_gaps(L, product));
  if (grad_L) inner = ops::add(inner, ops::diag_embed(*grad_L));
  return ops::matmul(V, ops::matmul(inner, VH));
}

Pair eigh(const Tensor& A, std::string_view uplo, Out out, Out out_v) {
  const auto [values, vectors] = ops::_linalg_eigh(A, uplo, true);
  return {copied_out(values, out), copied_out(vectors, out_v)};
}

// Vectors are computed where gradients may be asked for: the formula reads them.
Tensor eigvalsh(const Tensor& A, std::string_view uplo, Out out) {
  const bool recorded = may_be_differentiated(A);
  return copied_out(std::get<0>(ops::_linalg_eigh(A, uplo, recorded)), out);
}

// ---- general matrices -------------------------------------------------------------------------------------
void check_finite(const char* name, const Tensor& A) {
  if (A.is_meta() || A.numel() == 0) return;
  TL_CHECK(*elements_of<bool>(name, ops::all(ops::isfinite(A)), 1), Runtime, name,
           ": input tensor should not contain infs or NaNs.");
}

Pair eig_factors(const Tensor& A, bool vectors, const char* name) {
  check_square(name, "A", A);
  check_decomposed("linalg_eig_cpu", A);
  check_finite("torch.linalg.eig", A);
  const DType dtype = to_complex(A.dtype());
  const Tensor values = empty(with_vector(batch_of(A), last(A)), {dtype, A.device()});
  const Tensor columns = vectors ? empty_column_major(A.sizes(), {dtype, A.device()}) : Tensor();
  if (A.is_meta() || A.numel() == 0) return {values, columns};
  const lapack::Library& library = lapack::require(name);
  const lapack::SingleThreaded single(library);
  const Tensor copy = column_major(A), info = zero_info(batch_of(A), A.device());
  cpu::geev(lapack_batch(library, copy), copy.ptr<char>(), values.ptr<char>(),
            vectors ? columns.ptr<char>() : nullptr, info.ptr<int32_t>());
  check_info(name, info, [](int32_t code) {
    return cat(
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        "repeated "
        "eigenvalues (error code: ",
        code, ").");
  });
  return {values, columns};
}

Pair eig(const Tensor& self, Out out, Out out_v) {
  const auto [values, vectors] = eig_factors(self, true, "linalg.eig");
  return {copied_out(values, out), copied_out(vectors, out_v)};
}

// V^-H (diag(g_L) + (V^H g_V - V^H V diag(Re(V^H g_V))) / conj(l_j - l_i)) V^H, for vectors of length 1
// (Boeddeker et al., On the Computation of Complex-valued Gradients, 2017).
Tensor eig_backward(OptTensor grad_L, OptTensor grad_V, const Tensor& L, const Tensor& V) {
  const AllBits all_bits;
  const Tensor VH = adjoint(V);
  Tensor inner;
  if (grad_V) {
    const Tensor product = ops::matmul(VH, *grad_V);
    check_phase_invariant("linalg_eig_backward", "eigenvectors", ops::diagonal(product, 0, -2, -1));
    const Tensor along = ops::real(ops::diagonal(product, 0, -2, -1));
    const Tensor apart = ops::sub(product, ops::mul(ops::matmul(VH, V), ops::unsqueeze(along, -2)));
    inner = ops::mul(apart, ops::conj_physical(inverse_gaps(L, apart)));
    if (grad_L) inner = ops::add(inner, ops::diag_embed(*grad_L));
  } else {
    inner = ops::diag_embed(grad_L ? *grad_L : ops::zeros_like(L));
  }
  return ops::_linalg_solve(VH, ops::matmul(inner, VH));
}

Tensor eigvals(const Tensor& self, Out out) {
  if (may_be_differentiated(self)) return copied_out(std::get<0>(ops::linalg_eig(self)), out);
  return copied_out(ops::_linalg_eigvals(self), out);
}

Tensor eigvals_only(const Tensor& self) { return std::get<0>(eig_factors(self, false, "linalg.eigvals")); }
}  // namespace

TL_KERNEL(_linalg_eigh, eigh_factors)
TL_KERNEL(_linalg_eigh_backward, eigh_backward)
TL_KERNEL(linalg_eigh, eigh)
TL_KERNEL(linalg_eigvalsh, eigvalsh)
TL_KERNEL(linalg_eig, eig)
TL_KERNEL(_linalg_eig_backward, eig_backward)
TL_KERNEL(_linalg_eigvals, eigvals_only)
TL_KERNEL(linalg_eigvals, eigvals)

}  // namespace tl

// Matrix decompositions (QR, SVD) and the solvers built on them.
#include <array>
#include <cmath>
#include <vector>

#include "base/matmul_precision.h"
#include "iter/dtypes.h"
#include "kernels/cpu/linalg/factorizations.h"
#include "ops.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/ties.h"
#include "ops/shared/copy.h"
#include "ops/shared/elements.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/expect.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Pair = std::tuple<Tensor, Tensor>;

// The dtypes that the factorization kernels are instantiated for.
void check_factorization_dtype(DType d) {
  const bool known =
      d == DType::Float32 || d == DType::Float64 || d == DType::Complex64 || d == DType::Complex128;
  TL_CHECK(known, NotImplemented, "decompositions are not implemented for ", dtype_name(d));
}

// ---- Householder QR ---------------------------------------------------------------------------------------
struct HouseholderQr {
  Tensor a, tau;
};

HouseholderQr lapack_qr(const lapack::Library& library, const Tensor& self, IntSpan tau_shape) {
  const lapack::SingleThreaded single(library);
  HouseholderQr r{column_major(self), empty(tau_shape, {self.dtype(), self.device()})};
  cpu::geqrf(lapack_batch(library, r.a), r.a.ptr<char>(), r.tau.ptr<char>());
  return r;
}

// A dense copy of the matrices, decomposed in place.
HouseholderQr householder_qr(const Tensor& self) {
  const int64_t rows = rows_of(self), columns = last(self), fewer = std::min(rows, columns);
  DimVector shape(batch_of(self));
  shape.push_back(fewer);
  const lapack::Library* library = self.is_meta() || self.numel() == 0 ? nullptr : lapack::find();
  if (library) return lapack_qr(*library, self, shape);
  HouseholderQr r{empty(self.sizes(), {self.dtype(), self.device()}),
                  empty(shape, {self.dtype(), self.device()})};
  if (self.is_meta() || self.numel() == 0) return r;
  copy_elements(r.a, self);
  check_factorization_dtype(self.dtype());
  cpu::geqrf(self.dtype(), r.a.ptr<char>(), r.tau.ptr<char>(), self.numel() / (rows * columns), rows,
             columns);
  r.a = column_major(r.a);
  return r;
}

Pair geqrf(const Tensor& self, Out out, Out out_tau) {
  check_matrix("geqrf", "A", self);
  check_decomposed("geqrf", self);
  const HouseholderQr r = householder_qr(self);
  return {copied_out(r.a, out), copied_out(r.tau, out_tau)};
}

// The product of reflections as 1 - V T V^H with T = (1 + D U)^-1 D, where D holds tau and U is the strict
// upper triangle of V^H V (Joffrain et al., Accumulating Householder transformations, revisited, 2006).
struct CompactHouseholder {
  Tensor v;       // (rows, k), a unit lower trapezoid
  Tensor u;       // U
  Tensor system;  // 1 + D U

  CompactHouseholder(const Tensor& vectors, const Tensor& tau) {
    const int64_t rows = rows_of(vectors), k = last(tau);
    const TensorOptions like{vectors.dtype(), vectors.device()};
    const Tensor below = ops::tril(ops::narrow(vectors, -1, 0, k), -1);
    v = ops::add(below, ops::eye_m(rows, k, {.dtype = like.dtype, .device = like.device}));
    u = ops::triu(ops::matmul(adjoint(v), v), 1);
    const Tensor one = ops::eye(k, {.dtype = like.dtype, .device = like.device});
    system = ops::add(one, ops::mul(ops::unsqueeze(tau, -1), u));
  }
};

Tensor accumulate_q(const Tensor& vectors, const Tensor& tau, int64_t columns) {
  const AllBits all_bits;
  const int64_t rows = rows_of(vectors);
  const Tensor unit = ops::eye_m(rows, columns, {.dtype = vectors.dtype(), .device = vectors.device()});
  if (last(tau) == 0) return ops::clone(ops::expand(unit, with_matrix(batch_of(vectors), rows, columns)));
  const CompactHouseholder q(vectors, tau);
  const Tensor right = ops::mul(ops::unsqueeze(tau, -1), adjoint(ops::narrow(q.v, -2, 0, columns)));
  return ops::sub(unit, ops::matmul(q.v, ops::_linalg_solve(q.system, right)));
}

// The first `columns` columns of Q from the reflectors of LAPACK.
Tensor lapack_q(const lapack::Library& library, const HouseholderQr& f, int64_t columns) {
  const lapack::SingleThreaded single(library);
  const int64_t reflectors = last(f.tau);
  const Tensor q =
      empty_column_major(with_matrix(batch_of(f.a), rows_of(f.a), columns), {f.a.dtype(), f.a.device()});
  copy_elements(ops::narrow(q, -1, 0, reflectors), ops::narrow(f.a, -1, 0, reflectors));
  cpu::orgqr(lapack_batch(library, q), reflectors, q.ptr<char>(), f.tau.ptr<char>());
  return q;
}

Tensor orthonormal_columns(const HouseholderQr& f, int64_t columns) {
  const lapack::Library* library = f.a.is_meta() || !f.a.numel() ? nullptr : lapack::find();
  return library ? lapack_q(*library, f, columns) : column_major(accumulate_q(f.a, f.tau, columns));
}

void check_reflectors(const Tensor& input, const Tensor& tau) {
  check_matrix("linalg.householder_product", "input", input);
  check_decomposed("orgqr_cpu", input);
  TL_CHECK(rows_of(input) >= last(input), Runtime,
           "linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]");
  TL_CHECK(tau.dim() == input.dim() - 1 &&
               std::ranges::equal(tau.sizes().first(static_cast<size_t>(tau.dim() - 1)), batch_of(input)),
           Runtime,
           "linalg.householder_product: Expected tau to have one dimension less than input and its batch, "
           "got tau of shape ",
           tau.sizes(), " and input of shape ", input.sizes());
  TL_CHECK(last(input) >= last(tau), Runtime,
           "linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]");
  TL_CHECK(tau.dtype() == input.dtype(), Runtime, "linalg.householder_product: tau dtype ",
           scalar_type_name(tau.dtype()), " does not match input dtype ", scalar_type_name(input.dtype()));
}

Tensor householder_product(const Tensor& input, const Tensor& tau, Out out) {
  check_reflectors(input, tau);
  if (input.is_meta() || input.numel() == 0)
    return copied_out(empty_column_major(input.sizes(), {input.dtype(), input.device()}), out);
  return copied_out(orthonormal_columns({input, to_contiguous(tau)}, last(input)), out);
}

// Of Q = 1 - V T V^H: the gradients of both V, of T, and of what T is made of.
Pair householder_product_backward(const Tensor& grad, const Tensor& input, const Tensor& tau) {
  const AllBits all_bits;
  check_reflectors(input, tau);
  TL_CHECK(std::ranges::equal(grad.sizes(), input.sizes()), Runtime,
           "householder_product_backward: expected a gradient of shape ", input.sizes(), ", got ",
           grad.sizes());
  const int64_t n = last(input), k = last(tau);
  if (k == 0) return {ops::zeros_like(input), ops::zeros_like(tau)};
  const CompactHouseholder q(input, tau);
  const auto solved = [&](const Tensor& a, const Tensor& b, bool upper) {
    return ops::linalg_solve_triangular(a, b, upper, true, true);
  };
  const Tensor t = solved(q.system, ops::diag_embed(tau), true), top = ops::narrow(q.v, -2, 0, n);
  const Tensor g_t = ops::neg(ops::matmul(ops::matmul(adjoint(q.v), grad), top));
  const Tensor g_u = ops::neg(ops::matmul(ops::matmul(adjoint(t), g_t), adjoint(t)));
  const Tensor strict = ops::triu(g_u, 1);
  const Tensor of_top = ops::matmul(adjoint(grad), ops::matmul(q.v, t));
  const Tensor products = ops::sub(ops::matmul(q.v, ops::add(strict, adjoint(strict))),
                                   ops::matmul(ops::matmul(grad, top), adjoint(t)));
  const Tensor g_v = ops::sub(products, ops::constant_pad_nd(of_top, DimVector{0, 0, 0, rows_of(input) - n}));
  const Tensor below = ops::tril(g_v, -1);
  const Tensor one = ops::eye(k, {.dtype = tau.dtype(), .device = tau.device()});
  const Tensor g_d =
      ops::matmul(solved(adjoint(q.system), g_t, false), adjoint(ops::sub(one, ops::matmul(q.u, t))));
  return {ops::constant_pad_nd(below, DimVector{0, n - k}), ops::diagonal(g_d, 0, -2, -1)};
}

void check_ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left) {
  check_matrix("torch.ormqr", "input", input);
  check_matrix("torch.ormqr", "other", other);
  const char* side = left ? "-2" : "-1";
  const int64_t length = left ? rows_of(other) : last(other);
  TL_CHECK(rows_of(input) == length, Runtime, "torch.ormqr: other.shape[", side,
           "] must be equal to input.shape[-2], got ", other.sizes(), " and ", input.sizes());
  TL_CHECK(tau.dim() >= 1 && last(tau) == std::min(length, last(input)), Runtime,
           "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[", side,
           "], input.shape[-1]), got tau of shape ", tau.sizes(), ", other of shape ", other.sizes(),
           " and input of shape ", input.sizes());
  TL_CHECK(tau.dim() == input.dim() - 1, Runtime,
           "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to ",
           tau.dim(), " and input.ndim is equal to ", input.dim());
  TL_CHECK(
      other.dim() == input.dim(), Runtime,
      "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal "
      "to ",
      other.dim(), " and input.ndim is equal to ", input.dim());
  TL_CHECK(std::ranges::equal(batch_of(input), tau.sizes().first(static_cast<size_t>(tau.dim() - 1))) &&
               std::ranges::equal(batch_of(input), batch_of(other)),
           Runtime,
           "torch.ormqr: Expected batch dimensions of tau and other to be equal to input.shape[:-2], got tau "
           "of shape ",
           tau.sizes(), ", other of shape ", other.sizes(), " and input of shape ", input.sizes());
  for (const Tensor* t : {&tau, &other}) check_same_dtype("torch.ormqr", input, *t);
}

// Q C, Q^H C, C Q or C Q^H with the whole square Q of the reflectors.
Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transpose,
             Out out) {
  check_ormqr(self, input2, input3, left);
  const int64_t rows = rows_of(self), k = std::min({last(self), rows});
  const Tensor vectors = ops::narrow(self, -1, 0, k);
  const Tensor square = k < rows ? ops::constant_pad_nd(vectors, DimVector{0, rows - k}) : vectors;
  const Tensor q = ops::linalg_householder_product(square, input2);
  const Tensor factor = transpose ? adjoint(q) : q;
  return copied_out(columns_first(left ? ops::matmul(factor, input3) : ops::matmul(input3, factor)), out);
}

Tensor orgqr(const Tensor& self, const Tensor& input2, Out out) {
  return copied_out(ops::linalg_householder_product(self, input2), out);
}

void check_mode(std::string_view mode) {
  TL_CHECK(mode == "reduced" || mode == "complete" || mode == "r", Runtime, "qr received unrecognized mode '",
           mode, "' but expected one of 'reduced' (default), 'r', or 'complete'");
}

Pair qr(const Tensor& A, std::string_view mode, Out out_q, Out out_r) {
  check_matrix("linalg.qr", "A", A);
  check_decomposed("linalg.qr", A);
  check_mode(mode);
  const int64_t rows = rows_of(A), columns = last(A);
  const int64_t count_of_q = mode == "complete" ? rows : std::min(rows, columns);
  const HouseholderQr f = householder_qr(A);
  const Tensor r = column_major(ops::triu(ops::narrow(f.a, -2, 0, count_of_q), 0));
  const Tensor q =
      mode == "r" ? empty(DimVector{0}, {A.dtype(), A.device()}) : orthonormal_columns(f, count_of_q);
  return {copied_out(q, out_q), copied_out(r, out_r)};
}

// triu(x) + triu(x)^H with the diagonal counted once, its real part.
Tensor mirrored(const Tensor& x) {
  const Tensor upper = ops::triu(x, 0), both = ops::add(upper, adjoint(upper));
  const Tensor half = ops::mul(ops::diagonal(both, 0, -2, -1), Scalar(0.5));
  return ops::sub(both, ops::diag_embed(half));
}

// Of A = Q R with a square R: (grad_Q + Q mirrored(grad_R R^H - Q^H grad_Q)) R^-H.
Tensor qr_backward_tall(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q, const Tensor& r) {
  const Tensor inner = mirrored(ops::sub(ops::matmul(grad_r, adjoint(r)), ops::matmul(adjoint(q), grad_q)));
  const Tensor left = ops::add(grad_q, ops::matmul(q, inner));
  return adjoint(ops::_linalg_solve(r, adjoint(left)));
}

Tensor or_zeros(OptTensor grad, const Tensor& like) { return grad ? *grad : ops::zeros_like(like); }

// Seeger et al., Auto-Differentiating Linear Algebra, 2017. A wide matrix is [X Y] = Q [U V]: then Y = Q V.
Tensor qr_backward(OptTensor grad_Q, OptTensor grad_R, const Tensor& Q, const Tensor& R,
                   std::string_view mode) {
  const AllBits all_bits;
  TL_CHECK(mode != "r", Runtime,
           "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
           "linalg.qr(A, mode='reduced') if you are going to require gradients.");
  check_matrix("linalg.qr_backward", "Q", Q);
  check_matrix("linalg.qr_backward", "R", R);
  const int64_t rows = rows_of(R), columns = last(R);
  TL_CHECK(last(Q) <= columns, Runtime,
           "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  Tensor grad_q = or_zeros(grad_Q, Q);
  const Tensor grad_r = or_zeros(grad_R, R);
  if (rows == columns) return qr_backward_tall(grad_q, grad_r, Q, R);
  const int64_t rest = columns - rows;
  const Tensor u = ops::narrow(R, -1, 0, rows), grad_u = ops::narrow(grad_r, -1, 0, rows);
  const Tensor v = ops::narrow(R, -1, rows, rest), grad_v = ops::narrow(grad_r, -1, rows, rest);
  grad_q = ops::add(grad_q, ops::matmul(Q, ops::matmul(v, adjoint(grad_v))));
  const std::array<Tensor, 2> parts{qr_backward_tall(grad_q, grad_u, Q, u), ops::matmul(Q, grad_v)};
  return ops::cat(parts, -1);
}

// ---- singular values --------------------------------------------------------------------------------------
using Triple = std::tuple<Tensor, Tensor, Tensor>;

Triple empty_factors(const Tensor& A) {
  const int64_t fewer = std::min(rows_of(A), last(A));
  DimVector values(batch_of(A));
  values.push_back(fewer);
  const TensorOptions like{A.dtype(), A.device()};
  return {empty_column_major(with_matrix(batch_of(A), rows_of(A), fewer), like),
          empty(values, {to_real(A.dtype()), A.device()}),
          empty_column_major(with_matrix(batch_of(A), fewer, last(A)), like)};
}

// A tall matrix is Q R, and R = rotations^H diag(values) w. In double precision: float needs no loops of its
// own.
Triple tall_factors(const Tensor& A) {
  const int64_t n = last(A), count = A.numel() / (rows_of(A) * n);
  const HouseholderQr f = householder_qr(to_dtype(A, double_precision(A.dtype())));
  const Tensor w = to_contiguous(ops::triu(ops::narrow(f.a, -2, 0, n), 0));
  const Tensor rotations = empty(w.sizes(), {w.dtype(), {}}),
               values = empty(f.tau.sizes(), {DType::Float64, {}});
  cpu::jacobi_svd(w.dtype(), w.ptr<char>(), rotations.ptr<char>(), values.ptr<double>(), count, n);
  const Tensor u = ops::matmul(accumulate_q(f.a, f.tau, n), adjoint(rotations));
  return {column_major(to_dtype(u, A.dtype())), to_dtype(values, to_real(A.dtype())),
          column_major(to_dtype(w, A.dtype()))};
}

// Into the result; without vectors where `vectors` is false.
void lapack_svd(const lapack::Library& library, const Tensor& A, const Triple& result, bool vectors) {
  const lapack::SingleThreaded single(library);
  const Tensor a = column_major(A), info = zero_info(batch_of(A), A.device());
  const auto& [u, s, vh] = result;
  cpu::gesdd(lapack_batch(library, a), vectors ? 'S' : 'N', a.ptr<char>(), vectors ? u.ptr<char>() : nullptr,
             s.ptr<char>(), vectors ? vh.ptr<char>() : nullptr, info.ptr<int32_t>());
  check_info("linalg.svd", info, [](int32_t code) {
    return cat(
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        "repeated "
        "singular values (error code: ",
        code, ").");
  });
}

void check_svd_input(const Tensor& A) {
  check_matrix("linalg.svd", "A", A);
  check_decomposed("linalg_svd_cpu", A);
  if (A.is_meta() || A.numel() == 0) return;
  TL_CHECK(
      !*elements_of<bool>("linalg.svd", ops::any(ops::isnan(A)), 1), LinAlg,
      "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.");
}

Triple own_svd(const Tensor& A) {
  if (rows_of(A) >= last(A)) return tall_factors(A);
  const auto [v, values, uh] = tall_factors(adjoint(A));
  return {column_major(adjoint(uh)), values, column_major(adjoint(v))};
}

Triple svd_factors(const Tensor& A) {
  check_svd_input(A);
  if (A.is_meta() || A.numel() == 0) return empty_factors(A);
  const lapack::Library* library = lapack::find();
  if (!library) return own_svd(A);
  const Triple result = empty_factors(A);
  lapack_svd(*library, A, result, true);
  return result;
}

Tensor svd_values(const Tensor& A) {
  check_svd_input(A);
  if (!A.is_meta() && A.numel() && !lapack::find()) return std::get<1>(own_svd(A));
  const DimVector shape = with_vector(batch_of(A), std::min(rows_of(A), last(A)));
  const Tensor values = empty(shape, {to_real(A.dtype()), A.device()});
  if (!A.is_meta() && A.numel()) lapack_svd(*lapack::find(), A, {Tensor(), values, Tensor()}, false);
  return values;
}

// Townsend, Differentiating the Singular Value Decomposition, 2016. A complex pair of vectors is fixed up to
// a phase: the diagonal of `left` holds the imaginary part that a function of their products leaves.
Tensor svd_backward(OptTensor grad_U, OptTensor grad_S, OptTensor grad_Vh, const Tensor& U, const Tensor& S,
                    const Tensor& Vh) {
  const AllBits all_bits;
  const Tensor across = ops::unsqueeze(S, -2), down = ops::unsqueeze(S, -1);
  if (!grad_U && !grad_Vh) return ops::matmul(ops::mul(U, ops::unsqueeze(or_zeros(grad_S, S), -2)), Vh);
  const Tensor g_u = or_zeros(grad_U, U), g_vh = or_zeros(grad_Vh, Vh);
  const auto skew = [](const Tensor& x) { return ops::sub(x, adjoint(x)); };
  const Tensor u_part = ops::matmul(adjoint(U), g_u), v_part = ops::matmul(g_vh, adjoint(Vh));
  const Tensor left = skew(u_part), right = skew(adjoint(v_part));
  if (is_complex(U.dtype()))
    check_phase_invariant("svd_backward", "singular vectors",
                          ops::sub(ops::diagonal(u_part, 0, -2, -1), ops::diagonal(v_part, 0, -2, -1)));
  const Tensor gaps =
      ops::add(ops::mul(ops::sub(across, down), ops::add(across, down)), ops::diag_embed(ops::ones_like(S)));
  const Tensor unread = unread_pairs(ops::logical_and(ops::eq(left, Scalar(0)), ops::eq(right, Scalar(0))));
  Tensor inner = ops::div(ops::add(ops::mul(left, across), ops::mul(down, right)),
                          ops::where_self(unread, Scalar(1.0), gaps));
  if (grad_S) inner = ops::add(inner, ops::diag_embed(*grad_S));
  if (is_complex(U.dtype()))
    inner =
        ops::add(inner, ops::diag_embed(ops::div(ops::diagonal(left, 0, -2, -1), ops::mul(S, Scalar(2.0)))));
  Tensor rows = ops::matmul(inner, Vh);
  if (last(Vh) > last(S)) rows = ops::add(rows, ops::div(ops::sub(g_vh, ops::matmul(v_part, Vh)), down));
  const Tensor g = ops::matmul(U, rows);
  if (rows_of(U) == last(S)) return g;
  return ops::add(g, ops::matmul(ops::div(ops::sub(g_u, ops::matmul(U, u_part)), across), Vh));
}

// ---- norms that are sums of singular values ---------------------------------------------------------------
// The gradient U diag(weights) Vh is a function of the matrix. As the weights don't follow the values, its
// derivative divides by sums of values, and by differences only where the weights differ (Daleckii and Krein,
// Integration and differentiation of functions of Hermitian operators, 1965): values may be equal.
Tensor spread_over_matrices(const Tensor& t) { return ops::unsqueeze(ops::unsqueeze(t, -1), -1); }

Tensor quotient_or_zero(const Tensor& dividend, const Tensor& divisor, const Tensor& zero) {
  return ops::where_self(zero, Scalar(0.0), ops::div(dividend, ops::where_self(zero, Scalar(1.0), divisor)));
}

Tensor singular_norm(const Tensor&, const Tensor& value, const Tensor&, const Tensor&, const Tensor&,
                     const Tensor&) {
  return ops::clone(value);
}

Tensor singular_norm_backward(const Tensor& grad, const Tensor&, const Tensor& weights, const Tensor& U,
                              const Tensor&, const Tensor& Vh) {
  const Tensor scaled = ops::mul(ops::unsqueeze(weights, -2), spread_over_matrices(grad));
  return ops::matmul(ops::mul(U, scaled), Vh);
}

// Outside the spaces of the vectors only the weights by the values count.
Tensor singular_norm_double_backward(const Tensor& g, const Tensor& grad, const Tensor& A,
                                     const Tensor& weights, const Tensor& U, const Tensor& S,
                                     const Tensor& Vh) {
  if (A && may_be_differentiated(A)) {  // the factors follow the matrix at third order
    const auto [u, s, vh] = ops::_linalg_svd(A);
    return singular_norm_double_backward(g, grad, Tensor(), weights, u, s, vh);
  }
  const Tensor scaled = ops::mul(g, spread_over_matrices(grad));
  const Tensor left = ops::matmul(adjoint(U), scaled), right = ops::matmul(scaled, adjoint(Vh));
  const Tensor inner = ops::matmul(left, adjoint(Vh)), other = adjoint(inner);
  const auto across = [](const Tensor& t) { return ops::unsqueeze(t, -2); };
  const auto down = [](const Tensor& t) { return ops::unsqueeze(t, -1); };
  const Tensor apart = ops::sub(across(weights), down(weights)), sums = ops::add(across(S), down(S));
  const Tensor even = quotient_or_zero(apart, ops::sub(across(S), down(S)), ops::eq(apart, Scalar(0)));
  const Tensor odd =
      quotient_or_zero(ops::add(across(weights), down(weights)), sums, ops::eq(sums, Scalar(0)));
  const Tensor doubled =
      ops::add(ops::mul(ops::add(inner, other), even), ops::mul(ops::sub(inner, other), odd));
  const Tensor by_values = quotient_or_zero(weights, S, ops::eq(S, Scalar(0)));
  Tensor result = ops::matmul(U, ops::matmul(ops::mul(doubled, Scalar(0.5)), Vh));
  if (rows_of(U) > last(S))
    result = ops::add(result,
                      ops::matmul(ops::mul(ops::sub(right, ops::matmul(U, inner)), across(by_values)), Vh));
  if (last(Vh) > last(S))
    result =
        ops::add(result, ops::matmul(ops::mul(U, across(by_values)), ops::sub(left, ops::matmul(inner, Vh))));
  return result;
}

// Of equal values at the end each has its share.
Tensor weights_of(const Tensor& S, const Tensor& value) {
  const Tensor chosen = ops::to_dtype(ops::eq(S, ops::unsqueeze(value, -1)), S.dtype());
  return ops::div(chosen, ops::sum_dim_IntList(chosen, DimVector{-1}, true));
}

Tensor linalg_singular_norm(const Tensor& A, int64_t which) {
  const bool recorded = may_be_differentiated(A);
  const auto [U, S, Vh] =
      recorded ? ops::_linalg_svd(ops::detach(A)) : Triple{Tensor(), ops::_linalg_svdvals(A), Tensor()};
  const bool summed = which == 0 || (which > 0 && last(S) == 0);  // the largest of none is 0
  const DimVector along{-1};
  const Tensor value = summed      ? ops::sum_dim_IntList(S, along)
                       : which > 0 ? ops::amax(S, along)
                                   : ops::amin(S, along);
  if (!recorded) return value;
  return ops::_singular_norm(A, value, summed ? ops::ones_like(S) : weights_of(S, value), U, S, Vh);
}

// With columns that make an orthonormal basis of all of them.
Tensor completed(const Tensor& u) {
  const int64_t rows = rows_of(u), columns = last(u);
  if (rows == columns) return u;
  const Tensor q = std::get<0>(ops::linalg_qr(ops::detach(u), "complete"));
  const std::array<Tensor, 2> parts{u, ops::narrow(q, -1, columns, rows - columns)};
  return columns_first(ops::cat(parts, -1));
}

void check_driver(std::optional<std::string_view> driver) {
  TL_CHECK(!driver, Runtime,
           "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
           "backend.");
}

Triple linalg_svd(const Tensor& A, bool full_matrices, std::optional<std::string_view> driver, Out out_u,
                  Out out_s, Out out_vh) {
  check_driver(driver);
  const auto [u, s, vh] = ops::_linalg_svd(A);
  if (!full_matrices) return {copied_out(u, out_u), copied_out(s, out_s), copied_out(vh, out_vh)};
  return {copied_out(completed(u), out_u), copied_out(s, out_s),
          copied_out(columns_first(adjoint(completed(adjoint(vh)))), out_vh)};
}

Tensor linalg_svdvals(const Tensor& A, std::optional<std::string_view> driver, Out out) {
  check_driver(driver);
  const bool recorded = may_be_differentiated(A);
  return copied_out(recorded ? std::get<1>(ops::_linalg_svd(A)) : ops::_linalg_svdvals(A), out);
}

Triple svd(const Tensor& self, bool some, bool compute_uv, Out out_u, Out out_s, Out out_v) {
  const auto [u, s, vh] = ops::linalg_svd(self, !some || !compute_uv);
  const auto given = [&](const Tensor& t) { return compute_uv ? t : ops::zeros_like(t); };
  return {copied_out(given(u), out_u), copied_out(s, out_s), copied_out(given(adjoint(vh)), out_v)};
}

// ---- equations --------------------------------------------------------------------------------------------
std::string singular(int32_t) { return "The solver failed because the input matrix is singular."; }

// `x` holds the right-hand sides and becomes the solutions; `a` is overwritten.
void lapack_solve(const lapack::Library& library, const Tensor& a, const Tensor& x) {
  const lapack::SingleThreaded single(library);
  const Tensor info = zero_info(batch_of(a), {});
  const Tensor pivots = empty(with_vector(batch_of(a), last(a)), {DType::Int32, {}});
  cpu::getrf(lapack_batch(library, a), a.ptr<char>(), pivots.ptr<int32_t>(), info.ptr<int32_t>());
  check_info("linalg.solve", info, singular);
  cpu::getrs(lapack_batch(library, x), 'N', a.ptr<char>(), pivots.ptr<int32_t>(), x.ptr<char>());
}

void small_solve(const Tensor& A, const Tensor& x) {
  const Tensor a = ops::expand(A, with_matrix(batch_of(x), last(A), last(A)));
  const Tensor info = zero_info(batch_of(a), {});
  Tensor dense;
  cpu::small_matrix_kernels(a.dtype()).solve(small_matrices(a, dense), x.ptr<char>(), last(x),
                                             info.ptr<int32_t>());
  check_info("linalg.solve", info, singular);
}

// Row-major copies, by our own loops, where there is no library.
void own_solve(const Tensor& a, const Tensor& x) {
  const Tensor left = to_contiguous(a), right = to_contiguous(x);
  const int64_t count = matrix_count(x);
  const int64_t failed = cpu::solve(a.dtype(), left.ptr<char>(), right.ptr<char>(), count, last(a), last(x));
  if (failed >= 0) fail_matrix("linalg.solve", zero_info(batch_of(a), {}), failed, singular(1));
  copy_elements(x, right);
}

Tensor solve_matrices(const Tensor& A, const Tensor& B) {
  check_square("linalg.solve", "A", A);
  check_matrix("linalg.solve", "B", B);
  check_decomposed("linalg.solve", A);
  TL_CHECK(A.dtype() == B.dtype(), Runtime,
           "linalg.solve: Expected A and B to have the same dtype, but found A of type ",
           scalar_type_name(A.dtype()), " and B of type ", scalar_type_name(B.dtype()), " instead");
  const int64_t n = last(A);
  TL_CHECK(rows_of(B) == n, Runtime, "linalg.solve: Incompatible shapes of A and B for the equation AX = B (",
           rows_of(A), "x", n, " and ", rows_of(B), "x", last(B), ")");
  const DimVector batch = broadcast_shapes(batch_of(A), batch_of(B));
  const Tensor x = column_major(B, with_matrix(batch, n, last(B)));
  if (x.is_meta() || n == 0 || matrix_count(x) == 0) return x;
  if (has_small_kernels(A)) {
    small_solve(A, x);
    return x;
  }
  const Tensor a = column_major(A, with_matrix(batch, n, n));
  const lapack::Library* library = x.numel() == 0 ? nullptr : lapack::find();
  library ? lapack_solve(*library, a, x) : own_solve(a, x);
  return x;
}

Tensor solve(const Tensor& A, const Tensor& B, bool left, Out out) {
  check_square("linalg.solve", "A", A);
  const bool vectors = holds_vectors(A, B);
  TL_CHECK(
      left || !vectors, Runtime,
      "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
      "linalg.solve is equivalent to B / A.squeeze(-1)");
  if (vectors) {  // a batch of them lies as a matrix does
    const Tensor x = ops::squeeze_dim(ops::_linalg_solve(A, ops::unsqueeze(B, -1)), -1);
    return copied_out(x.dim() > 1 ? columns_first(x) : x, out);
  }
  if (left) return copied_out(ops::_linalg_solve(A, B), out);
  check_matrix("linalg.solve", "B", B);
  const Tensor transposed = ops::_linalg_solve(ops::transpose_int(A, -2, -1), ops::transpose_int(B, -2, -1));
  return copied_out(ops::transpose_int(transposed, -2, -1), out);
}

// ---- the exponential: Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005
constexpr int kDegree = 13;                      // of both polynomials of the Padé approximant
constexpr double kPadeNorm = 5.371920351148152;  // up to this norm it is exact to rounding

// How often each scaled matrix is squared, so that its norm before was small.
std::vector<int> squarings(const Tensor& self) {
  const Tensor sums = ops::sum_dim_IntList(ops::abs(self), DimVector{-2});
  const Tensor norms = to_contiguous(to_dtype(ops::amax(sums, DimVector{-1}), DType::Float64));
  std::vector<int> times;
  for (int64_t i = 0; i < norms.numel(); ++i) {
    const double norm = norms.ptr<double>()[i];
    times.push_back(norm > kPadeNorm && std::isfinite(norm) ? std::ilogb(norm / kPadeNorm) + 1 : 0);
  }
  return times;
}

// f(times) for each matrix, in a shape that multiplies the batch.
template <class F>
Tensor for_each_matrix(const Tensor& self, const std::vector<int>& times, F f) {
  const Tensor t = empty(with_matrix(batch_of(self), 1, 1), {DType::Float64, {}});
  for (size_t i = 0; i < times.size(); ++i) t.ptr<double>()[i] = f(times[i]);
  return t;
}

Tensor pade(const Tensor& a) {
  double c[kDegree + 1] = {1};
  for (int k = 1; k <= kDegree; ++k) c[k] = c[k - 1] * (kDegree - k + 1) / ((2 * kDegree - k + 1) * k);
  const Tensor one = ops::eye(last(a), {.dtype = a.dtype(), .device = a.device()});
  const Tensor a2 = ops::matmul(a, a), a4 = ops::matmul(a2, a2), a6 = ops::matmul(a4, a2);
  auto half = [&](int first) {  // the even or the odd terms
    auto three = [&](int k) {
      return ops::add(ops::add(ops::mul(a2, Scalar(c[k])), a4, Scalar(c[k + 2])), a6, Scalar(c[k + 4]));
    };
    const Tensor high = ops::matmul(a6, three(first + 8));
    return ops::add(ops::add(high, three(first + 2)), one, Scalar(c[first]));
  };
  const Tensor odd = ops::matmul(a, half(1)), even = half(0);
  return ops::_linalg_solve(ops::sub(even, odd), ops::add(even, odd));
}

// In double precision: what the inverse and the squarings lose would be seen in float.
Tensor exponential(const Tensor& self) {
  const std::vector<int> times = squarings(self);
  const Tensor scale = for_each_matrix(self, times, [](int t) { return std::ldexp(1.0, -t); });
  Tensor x = pade(ops::mul(self, scale));
  for (int k = 0; k < *std::ranges::max_element(times); ++k) {
    const Tensor squared = ops::matmul(x, x);
    if (k < *std::ranges::min_element(times)) {
      x = squared;
      continue;
    }
    const Tensor due = for_each_matrix(self, times, [k](int t) { return t > k; });
    x = ops::where_self(ops::ne(due, Scalar(0)), squared, x);
  }
  return x;
}

Tensor linalg_matrix_exp(const Tensor& self) {
  check_square("linalg.matrix_exp", "A", self);
  if (self.is_meta() || self.numel() == 0) return ops::empty_like(self);
  const auto one = [](const Tensor& t) {
    return to_dtype(exponential(to_dtype(t, double_precision(t.dtype()))), t.dtype());
  };
  constexpr int64_t kAlone =
      64;  // of this order on, the steps of one matrix are work enough, and stay in the cache
  if (last(self) < kAlone || self.dim() == 2) return one(self);
  const Tensor result = empty(self.sizes(), {self.dtype(), self.device()});
  const Tensor to = ops::flatten_using_ints(result, 0, -3), from = ops::flatten_using_ints(self, 0, -3);
  for (int64_t i = 0; i < to.size(0); ++i)
    copy_elements(ops::select_int(to, 0, i), one(ops::select_int(from, 0, i)));
  return result;
}

// exp of [[A^H, g], [0, A^H]] holds it in its corner (Najfeld and Havel, Derivatives of the matrix
// exponential, 1995).
Tensor matrix_exp_backward(const Tensor& self, const Tensor& grad) {
  check_square("matrix_exp_backward", "self", self);
  expect("matrix_exp_backward", "grad", grad, self.dtype(), self.sizes());
  const int64_t n = last(self);
  const Tensor transposed = adjoint(self);
  const std::array<Tensor, 2> upper{transposed, grad}, lower{ops::zeros_like(transposed), transposed};
  const std::array<Tensor, 2> rows{ops::cat(upper, -1), ops::cat(lower, -1)};
  const Tensor whole = ops::linalg_matrix_exp(ops::cat(rows, -2));
  return ops::narrow(ops::narrow(whole, -2, 0, n), -1, n, n);
}

Tensor matrix_exp(const Tensor& self) { return ops::linalg_matrix_exp(self); }
}  // namespace

TL_KERNEL(geqrf, geqrf)
TL_KERNEL(linalg_qr, qr)
TL_KERNEL(linalg_qr_backward, qr_backward)
TL_KERNEL(linalg_householder_product, householder_product)
TL_KERNEL(_householder_product_backward, householder_product_backward)
TL_KERNEL(orgqr, orgqr)
TL_KERNEL(ormqr, ormqr)
TL_KERNEL(_linalg_svd, svd_factors)
TL_KERNEL(_linalg_svdvals, svd_values)
TL_KERNEL(_linalg_svd_backward, svd_backward)
TL_KERNEL(_singular_norm, singular_norm)
TL_KERNEL(_singular_norm_backward, singular_norm_backward)
TL_KERNEL(_singular_norm_double_backward, singular_norm_double_backward)
TL_KERNEL(_linalg_singular_norm, linalg_singular_norm)
TL_KERNEL(linalg_svd, linalg_svd)
TL_KERNEL(linalg_svdvals, linalg_svdvals)
TL_KERNEL(svd, svd)
TL_KERNEL(_linalg_solve, solve_matrices)
TL_KERNEL(linalg_solve, solve)
TL_KERNEL(linalg_matrix_exp, linalg_matrix_exp)
TL_KERNEL(matrix_exp, matrix_exp)
TL_KERNEL(_matrix_exp_backward, matrix_exp_backward)

}  // namespace tl

// Checks, shapes and column-major copies that functions of matrices share.
#include "ops/linalg/matrices.h"

#include <algorithm>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elements.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"

namespace tl {

void check_matrix(const char* name, const char* argument, const Tensor& t) {
  TL_CHECK(t.dim() >= 2, Runtime, name, ": The input tensor ", argument,
           " must have at least 2 dimensions, got ", t.dim());
  TL_CHECK(is_complex(t.dtype()) || is_floating(t.dtype()), Runtime, name,
           ": Expected a floating point or complex tensor as input. Got ", scalar_type_name(t.dtype()));
}

void check_square(const char* name, const char* argument, const Tensor& t) {
  check_matrix(name, argument, t);
  TL_CHECK(rows_of(t) == last(t), Runtime, name, ": ", argument,
           " must be batches of square matrices, but they are ", rows_of(t), " by ", last(t), " matrices");
}

void check_decomposed(const char* name, const Tensor& t) {
  const bool floating = is_complex(t.dtype()) || is_floating(t.dtype());
  TL_CHECK(floating && !is_half(t.dtype()) && t.dtype() != DType::Complex32, NotImplemented, "\"", name,
           "\" not implemented for '", scalar_type_name(t.dtype()), "'");
}

void check_same_dtype(const char* name, const Tensor& A, const Tensor& B) {
  TL_CHECK(A.dtype() == B.dtype(), Runtime, name,
           ": Expected A and B to have the same dtype, but found A of type ", scalar_type_name(A.dtype()),
           " and B of type ", scalar_type_name(B.dtype()), " instead");
}

DimVector with_matrix(IntSpan batch, int64_t rows, int64_t columns) {
  DimVector shape(batch);
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

DimVector with_vector(IntSpan batch, int64_t n) {
  DimVector shape(batch);
  shape.push_back(n);
  return shape;
}

int64_t matrix_count(const Tensor& t) { return checked_numel(batch_of(t)); }

bool has_small_kernels(const Tensor& a) {
  const int64_t n = last(a);
  if (!cpu::is_small(a.dtype(), n)) return false;
  return n <= cpu::kSmallOrderAlone || matrix_count(a) >= cpu::kLanesInUse || !lapack::find();
}

Tensor columns_first(const Tensor& t) {
  return ops::transpose_int(ops::clone(ops::transpose_int(t, -2, -1), MemoryFormat::Contiguous), -2, -1);
}

Tensor adjoint(const Tensor& t) { return ops::conj_physical(ops::transpose_int(t, -2, -1)); }

Tensor empty_column_major(IntSpan sizes, TensorOptions options) {
  const size_t n = sizes.size();
  DimVector strides(sizes);
  int64_t step = std::max<int64_t>(sizes[n - 2], 1) * std::max<int64_t>(sizes[n - 1], 1);
  for (size_t d = n - 2; d-- > 0;) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  strides[n - 2] = 1;
  strides[n - 1] = std::max<int64_t>(sizes[n - 2], 1);
  checked_numel(sizes);
  return empty_strided(sizes, strides, options);
}

Tensor column_major(const Tensor& t, IntSpan sizes) {
  const Tensor copy = empty_column_major(sizes, {t.dtype(), t.device()});
  if (!copy.is_meta() && copy.numel()) copy_elements(copy, t);
  return copy;
}

Tensor as_column_major(const Tensor& t, IntSpan sizes) {
  const bool lies = std::ranges::equal(t.sizes(), sizes) && ops::transpose_int(t, -2, -1).is_contiguous();
  return lies ? t : column_major(t, sizes);
}

bool holds_vectors(const Tensor& A, const Tensor& B) {
  return B.dim() == 1 || (A.dim() - 1 == B.dim() &&
                          std::ranges::equal(B.sizes(), A.sizes().first(static_cast<size_t>(A.dim() - 1))));
}

void check_phase_invariant(const char* name, const char* vectors, const Tensor& along) {
  if (!is_complex(along.dtype()) || !has_known_values(along) || !along.numel()) return;
  constexpr double kTolerance = 1e-2;  // the reference's
  const Tensor turn = ops::amax(ops::abs(ops::imag(ops::detach(along))), DimVector{});
  TL_CHECK(!(ops::_local_scalar_dense(turn).to_double() > kTolerance), Runtime, name, ": The ", vectors,
           " in the complex case are specified up to multiplication by e^{i phi}. The specified loss "
           "function depends "
           "on this quantity, so it is ill-defined.");
}

Tensor zero_info(IntSpan batch, Device device) {
  const Tensor info = empty(batch, {DType::Int32, device});
  if (!info.is_meta()) fill(info, Scalar(int64_t{0}));
  return info;
}

int64_t first_failure(const char* name, const Tensor& info) {
  if (info.is_meta() || is_hollow(info)) return -1;
  const int32_t* codes = elements_of<int32_t>(name, info, info.numel());
  for (int64_t i = 0; i < info.numel(); ++i)
    if (codes[i]) return i;
  return -1;
}

void fail_matrix(const char* name, const Tensor& info, int64_t index, const std::string& text) {
  const std::string element = info.dim() ? cat("(Batch element ", index, "): ") : std::string();
  fail(ErrorKind::LinAlg, {name, ": ", element, text});
}

cpu::SmallMatrices small_matrices(const Tensor& a, Tensor& dense) {
  const bool row_major = a.is_contiguous();
  dense = row_major ? a : column_major(a);
  return {dense.ptr<char>(), row_major, matrix_count(a), last(a)};
}

}  // namespace tl

// What functions of matrices share: shapes, checks, column-major copies. The last two dimensions are the
// matrices'.
#pragma once

#include "base/lapack.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/small_matrices.h"
#include "tensor/hollow.h"
#include "tensor/tensor.h"

namespace tl {

// Raises if a tensor has too few dimensions for what is asked of it.
inline void check_dimensions(const Tensor& t, int64_t fewest) {
  TL_CHECK(t.dim() >= fewest, Runtime, "linalg: expected a tensor with at least ", fewest,
           " dimensions, got shape ", t.sizes());
}

inline int64_t rows_of(const Tensor& t) {
  check_dimensions(t, 2);
  return t.size(t.dim() - 2);
}
inline int64_t last(const Tensor& t) {  // columns of matrices, elements of vectors
  check_dimensions(t, 1);
  return t.size(t.dim() - 1);
}
inline IntSpan batch_of(const Tensor& t) {
  check_dimensions(t, 2);
  return t.sizes().first(static_cast<size_t>(t.dim() - 2));
}

// Raises unless the argument holds matrices of floating-point or complex numbers, or square ones.
void check_matrix(const char* name, const char* argument, const Tensor& t);
void check_square(const char* name, const char* argument, const Tensor& t);
// Raises unless the kernels have loops for the dtype; `name` is what the error calls them.
void check_decomposed(const char* name, const Tensor& t);
void check_same_dtype(const char* name, const Tensor& A, const Tensor& B);

DimVector with_matrix(IntSpan batch, int64_t rows, int64_t columns);
DimVector with_vector(IntSpan batch, int64_t n);
int64_t matrix_count(const Tensor& t);

// Conjugate transposes, as values.
Tensor adjoint(const Tensor& t);
// The same matrices with their columns one after the other, differentiably.
Tensor columns_first(const Tensor& t);
// Fresh matrices whose columns lie one after the other, and such a copy of others, broadcast to the shape.
Tensor empty_column_major(IntSpan sizes, TensorOptions options);
Tensor column_major(const Tensor& t, IntSpan sizes);
// The same matrices, not copied where they lie like that.
Tensor as_column_major(const Tensor& t, IntSpan sizes);
inline Tensor column_major(const Tensor& t) { return column_major(t, t.sizes()); }

// B holds vectors if it has one dimension, or all of A's but the last.
bool holds_vectors(const Tensor& A, const Tensor& B);

// Complex vectors are known up to a phase: raises unless the loss, whose change with each phase is the
// imaginary part of `along`, does not depend on it.
void check_phase_invariant(const char* name, const char* vectors, const Tensor& along);

// Codes of a factorization, an int32 for each matrix, zero.
Tensor zero_info(IntSpan batch, Device device);
// Raises LinAlgError for the first code that isn't zero: text(code) says what it means.
template <class F>
void check_info(const char* name, const Tensor& info, F text);
// The first code that isn't zero: its index, or -1, as where nobody knows the codes.
int64_t first_failure(const char* name, const Tensor& info);
[[noreturn]] void fail_matrix(const char* name, const Tensor& info, int64_t index, const std::string& text);

template <class F>
void check_info(const char* name, const Tensor& info, F text) {
  const int64_t index = first_failure(name, info);
  if (index >= 0) fail_matrix(name, info, index, text(info.ptr<int32_t>()[index]));
}

// Whether the kernels for small matrices are the quickest that there are for these.
bool has_small_kernels(const Tensor& a);
// Matrices as the kernels for small ones read them; `dense` holds a copy where they need one.
cpu::SmallMatrices small_matrices(const Tensor& a, Tensor& dense);

// The matrices of `t` as the kernels of LAPACK take them.
inline cpu::MatrixBatch lapack_batch(const lapack::Library& library, const Tensor& t) {
  return {library, t.dtype(), matrix_count(t), rows_of(t), last(t)};
}

}  // namespace tl

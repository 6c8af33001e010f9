// Dense factorizations of row-major matrices in float, double and their complex types: QR, LU solve, SVD.
// Callers check the dtype.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tl::cpu {

// Householder QR, as LAPACK's geqrf: `count` matrices of rows x columns become R in the upper triangle and,
// below it, the vectors of the reflectors H_i = 1 - tau_i v_i v_i^H with Q = H_0 H_1 ..., whose first entry 1
// is not stored. `tau` holds min(rows, columns) numbers for each matrix.
void geqrf(DType dtype, char* a, char* tau, int64_t count, int64_t rows, int64_t columns);

// b = a^-1 b for `count` pairs of n x n and n x columns matrices, by LU with partial pivoting; `a` is
// overwritten. Returns the index of the first singular matrix, or -1.
int64_t solve(DType dtype, char* a, char* b, int64_t count, int64_t n, int64_t columns);

// One-sided Jacobi SVD: a = u diag(values) w for `count` n x n matrices in double precision, real or complex:
// `a` becomes w, `rotations` the adjoint of u, and `values` holds n values for each, descending.
void jacobi_svd(DType dtype, char* a, char* rotations, double* values, int64_t count, int64_t n);

}  // namespace tl::cpu

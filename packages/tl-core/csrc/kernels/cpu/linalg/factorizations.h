// Decompositions of dense matrices, row by row in memory, in the types float, double and their complex ones.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tl::cpu {

// `count` matrices of rows x columns become R in the upper triangle and, below it, the vectors of the
// reflections H_i = 1 - tau_i v_i v_i^H with Q = H_0 H_1 ..., whose first entry 1 is not stored. `tau` holds
// min(rows, columns) numbers for each matrix.
void reflections(DType dtype, char* a, char* tau, int64_t count, int64_t rows, int64_t columns);

// b = a^-1 b for `count` pairs of n x n and n x columns matrices, by rows with exchanged pivots; `a` is used
// up. Returns which matrix has no inverse, or -1.
int64_t solve(DType dtype, char* a, char* b, int64_t count, int64_t n, int64_t columns);

// a = u diag(values) w for `count` n x n matrices in double precision, real or complex: `a` becomes w,
// `turns` the adjoint of u, and `values` holds n numbers for each, descending.
void singular_values(DType dtype, char* a, char* turns, double* values, int64_t count, int64_t n);

}  // namespace tl::cpu

// LAPACK's routines over batches of column-major matrices, split over the pool by matrix. Callers check
// dtypes and shapes, and hold a lapack::SingleThreaded. `info` takes each call's result: 0, or the index at
// which it failed.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/lapack.h"

namespace tl::cpu {

// The batch that all routines below take: `count` matrices of rows x columns.
struct MatrixBatch {
  const lapack::Library& library;
  DType dtype;
  int64_t count, rows, columns;
};

// LU with partial pivoting: `pivots` holds min(rows, columns) row numbers from 1 for each matrix.
void getrf(const MatrixBatch& b, char* a, int32_t* pivots, int32_t* info);
// B = A^-1 B (op 'N'), A^-T B ('T') or A^-H B ('C') with the factors of getrf; A is square, B has `columns`.
void getrs(const MatrixBatch& b, char op, const char* lu, const int32_t* pivots, char* rhs);
// The inverse from the factors of getrf.
void getri(const MatrixBatch& b, char* lu, const int32_t* pivots, int32_t* info);

// Cholesky factor of the triangle `uplo`; the other one is left as it is.
void potrf(const MatrixBatch& b, char uplo, char* a, int32_t* info);
void potrs(const MatrixBatch& b, char uplo, const char* factor, char* rhs);
// The inverse; of complex matrices its triangle `uplo` only.
void potri(const MatrixBatch& b, char uplo, char* factor, int32_t* info);

// Householder QR; `tau` holds min(rows, columns) factors for each matrix.
void geqrf(const MatrixBatch& b, char* a, char* tau);
// The first `columns` columns of the product of `reflectors` reflectors.
void orgqr(const MatrixBatch& b, int64_t reflectors, char* a, const char* tau);

// Op(A) X = alpha B or X Op(A) = B for a triangle A of order rows (left) or columns (right); B becomes X.
struct TriangularSolve {
  bool left, upper, unit;
  char op;  // 'N', 'T' or 'C'
};
void trsm(const MatrixBatch& b, const TriangularSolve& how, const char* a, char* rhs);

// Eigenvalues of Hermitian matrices, ascending; the matrix becomes their vectors where `vectors`.
void syevd(const MatrixBatch& b, char uplo, bool vectors, char* a, char* values, int32_t* info);
// Eigenvalues of general matrices as complex numbers, and right vectors where `vectors` isn't null; real
// matrices give both in complex form as well. `a` is overwritten.
void geev(const MatrixBatch& b, char* a, char* values, char* vectors, int32_t* info);

// Singular values, and vectors if job is 'S' (the shorter side's) or 'A' (all) rather than 'N'. `a` is
// overwritten.
void gesdd(const MatrixBatch& b, char job, char* a, char* u, char* values, char* vh, int32_t* info);

// Symmetric indefinite factorization (Bunch-Kaufman), Hermitian where `hermitian`, of the lower triangle.
void sytrf(const MatrixBatch& b, bool hermitian, char* a, int32_t* pivots, int32_t* info);
void sytrs(const MatrixBatch& b, bool hermitian, const char* factors, const int32_t* pivots, char* rhs);

// Least squares: `rhs` holds max(rows, columns) x rhs_columns. `driver` is Gels, Gelsy, Gelsd or Gelss;
// all but Gels give the rank, Gelsd and Gelss the singular values.
struct LeastSquares {
  lapack::Routine driver;
  int64_t rhs_columns;
  double rcond;
};
void least_squares(const MatrixBatch& b, const LeastSquares& how, char* a, char* rhs, int64_t* ranks,
                   char* singular_values, int32_t* info);

}  // namespace tl::cpu

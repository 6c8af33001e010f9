// Factorizations and solves of LAPACK over batches: LU, Cholesky, QR, triangles, Bunch-Kaufman.
#include "kernels/cpu/linalg/lapack.h"

#include "kernels/cpu/linalg/lapack_call.h"
#include "kernels/cpu/linalg/triangular.h"

namespace tl::cpu {

namespace {
constexpr size_t kOne = 1;  // the length of a Fortran character, passed at the end

// The workspace of a call, by asking the routine itself: call(work, lwork).
template <class F>
int64_t workspace_of(DType dtype, F call) {
  alignas(16) char answer[16] = {};
  const int64_t query = -1;
  call(answer, &query);
  return asked_for(dtype, answer);
}

// Real systems of triangles are solved by our own products.
bool by_products(const MatrixBatch& b) { return !is_complex(b.dtype); }

// X of order `b.rows`, whose columns lie one after the other.
TriangularSystems systems_of(const MatrixBatch& b, char* x) {
  return {b.dtype, b.count, b.rows, b.columns, {x, 1, b.rows}, {}, 2};
}
// The triangle of column-major matrices, or of their transposes.
TriangularFactor factor_of(const char* a, int64_t n, bool upper, bool transposed, bool unit = false) {
  return {a, transposed ? n : 1, transposed ? 1 : n, upper != transposed, unit};
}

// LU X = B with P A = LU, or U^T L^T P X = B.
void solve_lu(const MatrixBatch& b, bool transposed, const char* lu, const int32_t* pivots, char* rhs) {
  TriangularSystems s = systems_of(b, rhs);
  const TriangularFactor lower = factor_of(lu, b.rows, false, transposed, true),
                         upper = factor_of(lu, b.rows, true, transposed);
  s.factors[0] = transposed ? upper : lower;
  s.factors[1] = transposed ? lower : upper;
  s.pivots = pivots;
  s.pivots_last = transposed;
  solve_triangles(s);
}

// A X = B with A = L L^T or U^T U.
void solve_cholesky(const MatrixBatch& b, char uplo, const char* factor, char* x,
                    TriangularSystems::Given given) {
  TriangularSystems s = systems_of(b, x);
  s.given = given;
  s.factors[0] = factor_of(factor, b.rows, uplo == 'U', uplo == 'U');
  s.factors[1] = factor_of(factor, b.rows, uplo == 'U', uplo == 'L');
  solve_triangles(s);
}

// A copy, which the solutions of an inverse are computed from while they overwrite the factors.
const char* copied(const MatrixBatch& b, const char* factors, const Bytes& to) {
  std::copy_n(factors, b.count * b.rows * b.rows * item_size(b.dtype), to.data());
  return to.data();
}

// A^-1 = (LU)^-1 P: the exchanges, from the last one on, of columns.
void invert_lu(const MatrixBatch& b, char* lu, const int32_t* pivots) {
  const int64_t n = b.rows, column = n * item_size(b.dtype);
  const Bytes copy(b.count * n * column);
  TriangularSystems s = systems_of(b, lu);
  const char* factors = copied(b, lu, copy);
  s.given = TriangularSystems::Identity;
  s.factors[0] = factor_of(factors, n, false, false, true);
  s.factors[1] = factor_of(factors, n, true, false);
  solve_triangles(s);
  over_batch(b, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t k = n - 1; k >= 0; --k) {
        char *const one = lu + (i * n + k) * column, *const other =
                                                         lu + (i * n + pivots[i * n + k] - 1) * column;
        if (one != other) std::swap_ranges(one, one + column, other);
      }
  });
}

template <class T>
int32_t first_zero(const T* matrix, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    if (matrix[k * (n + 1)] == 0) return static_cast<int32_t>(k + 1);
  return 0;
}

void invert_cholesky(const MatrixBatch& b, char uplo, char* factor, int32_t* info) {
  const int64_t n = b.rows;
  for (int64_t i = 0; i < b.count; ++i)
    info[i] = b.dtype == DType::Float64 ? first_zero(reinterpret_cast<double*>(factor) + i * n * n, n)
                                        : first_zero(reinterpret_cast<float*>(factor) + i * n * n, n);
  const Bytes copy(b.count * n * n * item_size(b.dtype));
  solve_cholesky(b, uplo, copied(b, factor, copy), factor, TriangularSystems::SymmetricInverse);
}
}  // namespace

void getrf(const MatrixBatch& b, char* a, int32_t* pivots, int32_t* info) {
  const int64_t item = item_size(b.dtype), few = std::min(b.rows, b.columns), lda = leading(b.rows);
  over_batch(b, [&](int64_t begin, int64_t end) {
    Pivots p(b.library, few);
    for (int64_t i = begin; i < end; ++i) {
      int64_t result = 0;
      b.library.call(Routine::Getrf, lapack_type(b.dtype), &b.rows, &b.columns,
                     a + i * b.rows * b.columns * item, &lda, p.writable(pivots + i * few), &result);
      p.store(pivots + i * few, few);
      info[i] = static_cast<int32_t>(b.library.integer(result));
    }
  });
}

void getrs(const MatrixBatch& b, char op, const char* lu, const int32_t* pivots, char* rhs) {
  if (by_products(b)) return solve_lu(b, op != 'N', lu, pivots, rhs);
  const int64_t item = item_size(b.dtype), n = b.rows, ld = leading(n);
  over_batch(b, [&](int64_t begin, int64_t end) {
    Pivots p(b.library, n);
    for (int64_t i = begin; i < end; ++i) {
      int64_t result = 0;
      b.library.call(Routine::Getrs, lapack_type(b.dtype), &op, &n, &b.columns, lu + i * n * n * item, &ld,
                     p.readable(pivots + i * n, n), rhs + i * n * b.columns * item, &ld, &result, kOne);
    }
  });
}

void getri(const MatrixBatch& b, char* lu, const int32_t* pivots, int32_t* info) {
  if (by_products(b)) return invert_lu(b, lu, pivots);
  const int64_t item = item_size(b.dtype), n = b.rows, ld = leading(n);
  auto run = [&](char* a, const void* p, void* work, const int64_t* size) {
    int64_t result = 0;
    b.library.call(Routine::Getri, lapack_type(b.dtype), &n, a, &ld, p, work, size, &result);
    return static_cast<int32_t>(b.library.integer(result));
  };
  const int64_t size = workspace_of(b.dtype, [&](void* w, const int64_t* s) { run(lu, pivots, w, s); });
  over_batch(b, [&](int64_t begin, int64_t end) {
    Pivots p(b.library, n);
    const Bytes work(size * item);
    for (int64_t i = begin; i < end; ++i) {
      const int32_t failed = run(lu + i * n * n * item, p.readable(pivots + i * n, n), work.data(), &size);
      if (!info[i]) info[i] = failed;
    }
  });
}

void potrf(const MatrixBatch& b, char uplo, char* a, int32_t* info) {
  const int64_t n = b.rows, ld = leading(n), step = n * n * item_size(b.dtype);
  over_batch(b, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t result = 0;
      b.library.call(Routine::Potrf, lapack_type(b.dtype), &uplo, &n, a + i * step, &ld, &result, kOne);
      info[i] = static_cast<int32_t>(b.library.integer(result));
    }
  });
}

void potrs(const MatrixBatch& b, char uplo, const char* factor, char* rhs) {
  if (by_products(b)) return solve_cholesky(b, uplo, factor, rhs, TriangularSystems::Values);
  const int64_t item = item_size(b.dtype), n = b.rows, ld = leading(n);
  over_batch(b, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t result = 0;
      b.library.call(Routine::Potrs, lapack_type(b.dtype), &uplo, &n, &b.columns, factor + i * n * n * item,
                     &ld, rhs + i * n * b.columns * item, &ld, &result, kOne);
    }
  });
}

void potri(const MatrixBatch& b, char uplo, char* factor, int32_t* info) {
  if (by_products(b)) return invert_cholesky(b, uplo, factor, info);
  const int64_t n = b.rows, ld = leading(n), step = n * n * item_size(b.dtype);
  over_batch(b, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t result = 0;
      b.library.call(Routine::Potri, lapack_type(b.dtype), &uplo, &n, factor + i * step, &ld, &result, kOne);
      info[i] = static_cast<int32_t>(b.library.integer(result));
    }
  });
}

void geqrf(const MatrixBatch& b, char* a, char* tau) {
  const int64_t item = item_size(b.dtype), lda = leading(b.rows), few = std::min(b.rows, b.columns);
  auto run = [&](char* matrix, char* factors, void* work, const int64_t* size) {
    int64_t result = 0;
    b.library.call(Routine::Geqrf, lapack_type(b.dtype), &b.rows, &b.columns, matrix, &lda, factors, work,
                   size, &result);
  };
  const int64_t size = workspace_of(b.dtype, [&](void* w, const int64_t* s) { run(a, tau, w, s); });
  over_batch(b, [&](int64_t begin, int64_t end) {
    const Bytes work(size * item);
    for (int64_t i = begin; i < end; ++i)
      run(a + i * b.rows * b.columns * item, tau + i * few * item, work.data(), &size);
  });
}

void orgqr(const MatrixBatch& b, int64_t reflectors, char* a, const char* tau) {
  const int64_t item = item_size(b.dtype), lda = leading(b.rows);
  auto run = [&](char* matrix, const char* factors, void* work, const int64_t* size) {
    int64_t result = 0;
    b.library.call(Routine::Orgqr, lapack_type(b.dtype), &b.rows, &b.columns, &reflectors, matrix, &lda,
                   factors, work, size, &result);
  };
  const int64_t size = workspace_of(b.dtype, [&](void* w, const int64_t* s) { run(a, tau, w, s); });
  over_batch(b, [&](int64_t begin, int64_t end) {
    const Bytes work(size * item);
    for (int64_t i = begin; i < end; ++i)
      run(a + i * b.rows * b.columns * item, tau + i * reflectors * item, work.data(), &size);
  });
}

// X op(A) = B is op(A)^T X^T = B^T, whose rows lie one after the other.
void trsm(const MatrixBatch& b, const TriangularSolve& how, const char* a, char* rhs) {
  if (by_products(b)) {
    const int64_t n = how.left ? b.rows : b.columns, columns = how.left ? b.columns : b.rows;
    const MatrixView x = how.left ? MatrixView{rhs, 1, b.rows} : MatrixView{rhs, b.rows, 1};
    const bool transposed = (how.op != 'N') == how.left;
    return solve_triangles(
        {b.dtype, b.count, n, columns, x, {factor_of(a, n, how.upper, transposed, how.unit)}, 1});
  }
  const int64_t item = item_size(b.dtype), n = how.left ? b.rows : b.columns;
  const int64_t lda = leading(n), ldb = leading(b.rows);
  const char side = how.left ? 'L' : 'R', uplo = how.upper ? 'U' : 'L', diag = how.unit ? 'U' : 'N';
  alignas(16) double one[2] = {1, 0};
  alignas(16) float one_single[2] = {1, 0};
  const bool single = b.dtype == DType::Float32 || b.dtype == DType::Complex64;
  const void* alpha = single ? static_cast<const void*>(one_single) : one;
  over_batch(b, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      b.library.call(Routine::Trsm, lapack_type(b.dtype), &side, &uplo, &how.op, &diag, &b.rows, &b.columns,
                     alpha, a + i * n * n * item, &lda, rhs + i * b.rows * b.columns * item, &ldb, kOne, kOne,
                     kOne, kOne);
  });
}

void sytrf(const MatrixBatch& b, bool hermitian, char* a, int32_t* pivots, int32_t* info) {
  const int64_t item = item_size(b.dtype), n = b.rows, ld = leading(n);
  const char uplo = 'L';
  const Routine routine = hermitian && is_complex(b.dtype) ? Routine::Hetrf : Routine::Sytrf;
  auto run = [&](char* matrix, void* p, void* work, const int64_t* size) {
    int64_t result = 0;
    b.library.call(routine, lapack_type(b.dtype), &uplo, &n, matrix, &ld, p, work, size, &result, kOne);
    return static_cast<int32_t>(b.library.integer(result));
  };
  const int64_t size = workspace_of(b.dtype, [&](void* w, const int64_t* s) { run(a, pivots, w, s); });
  over_batch(b, [&](int64_t begin, int64_t end) {
    Pivots p(b.library, n);
    const Bytes work(size * item);
    for (int64_t i = begin; i < end; ++i) {
      info[i] = run(a + i * n * n * item, p.writable(pivots + i * n), work.data(), &size);
      p.store(pivots + i * n, n);
    }
  });
}

void sytrs(const MatrixBatch& b, bool hermitian, const char* factors, const int32_t* pivots, char* rhs) {
  const int64_t item = item_size(b.dtype), n = b.rows, ld = leading(n);
  const char uplo = 'L';
  const Routine routine = hermitian && is_complex(b.dtype) ? Routine::Hetrs : Routine::Sytrs;
  over_batch(b, [&](int64_t begin, int64_t end) {
    Pivots p(b.library, n);
    for (int64_t i = begin; i < end; ++i) {
      int64_t result = 0;
      b.library.call(routine, lapack_type(b.dtype), &uplo, &n, &b.columns, factors + i * n * n * item, &ld,
                     p.readable(pivots + i * n, n), rhs + i * n * b.columns * item, &ld, &result, kOne);
    }
  });
}

}  // namespace tl::cpu

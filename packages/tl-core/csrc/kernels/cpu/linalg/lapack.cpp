// Factorizations and solves of LAPACK over batches: LU, Cholesky, QR, triangles, Bunch-Kaufman.
#include "kernels/cpu/linalg/lapack.h"

#include "kernels/cpu/linalg/lapack_call.h"

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

void trsm(const MatrixBatch& b, const TriangularSolve& how, const char* a, char* rhs) {
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

// Eigenvalues, singular values and least squares by LAPACK, over batches.
#include "kernels/cpu/linalg/lapack_call.h"

namespace tl::cpu {

namespace {
constexpr size_t kOne = 1;  // the length of a Fortran character, passed at the end

bool is_single(DType dtype) { return dtype == DType::Float32 || dtype == DType::Complex64; }
int64_t real_size(DType dtype) { return is_single(dtype) ? 4 : 8; }

// Reads the first element of an integer workspace.
int64_t first_integer(const lapack::Library& library, const void* work) {
  return std::max<int64_t>(library.integer(*static_cast<const int64_t*>(work)), 1);
}

// Workspaces of a routine: elements, real numbers (complex types only), integers.
struct Sizes {
  int64_t work = -1, real = -1, integer = -1;
};
}  // namespace

// ---- Hermitian matrices: divide and conquer ---------------------------------------------------------------
namespace {
struct Syevd {
  const MatrixBatch& b;
  char job, uplo;

  int32_t run(char* a, char* values, void* work, void* real, void* integer, const Sizes& size) const {
    const int64_t ld = leading(b.rows);
    int64_t result = 0;
    const int type = lapack_type(b.dtype);
    if (is_complex(b.dtype))
      b.library.call(Routine::Syevd, type, &job, &uplo, &b.rows, a, &ld, values, work, &size.work, real,
                     &size.real, integer, &size.integer, &result, kOne, kOne);
    else
      b.library.call(Routine::Syevd, type, &job, &uplo, &b.rows, a, &ld, values, work, &size.work, integer,
                     &size.integer, &result, kOne, kOne);
    return static_cast<int32_t>(b.library.integer(result));
  }

  Sizes sizes(char* a, char* values) const {
    alignas(16) char work[16] = {}, real[16] = {}, integer[16] = {};
    run(a, values, work, real, integer, {});
    const DType real_dtype = to_real(b.dtype);
    return {asked_for(b.dtype, work), is_complex(b.dtype) ? asked_for(real_dtype, real) : 1,
            first_integer(b.library, integer)};
  }
};
}  // namespace

void syevd(const MatrixBatch& b, char uplo, bool vectors, char* a, char* values, int32_t* info) {
  const Syevd solver{b, vectors ? 'V' : 'N', uplo};
  const int64_t item = item_size(b.dtype), n = b.rows, real = real_size(b.dtype);
  const Sizes size = solver.sizes(a, values);
  over_batch(b, [&](int64_t begin, int64_t end) {
    const Bytes work(size.work * item), reals(size.real * real), integers(size.integer * 8);
    for (int64_t i = begin; i < end; ++i)
      info[i] = solver.run(a + i * n * n * item, values + i * n * real, work.data(), reals.data(),
                           integers.data(), size);
  });
}

// ---- general matrices -------------------------------------------------------------------------------------
namespace {
// Pairs of conjugate vectors come as a real and an imaginary column.
template <class T>
void complex_vectors(const T* real, const T* imaginary_values, ComplexOf<T>* out, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = imaginary_values[j] != 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const T re = real[j * n + i], im = pair ? real[(j + 1) * n + i] : T(0);
      out[j * n + i] = {re, im};
      if (pair) out[(j + 1) * n + i] = {re, -im};
    }
    j += pair;
  }
}

template <class T>
class Geev {
 public:
  Geev(const MatrixBatch& b, bool vectors) : b_(b), right_(vectors ? 'V' : 'N') {}

  int32_t run_real(char* a, T* re, T* im, void* vectors, void* work, const int64_t* size) const {
    const int64_t ld = leading(b_.rows);
    int64_t result = 0;
    b_.library.call(Routine::Geev, lapack_type(b_.dtype), &left_, &right_, &b_.rows, a, &ld, re, im, nullptr_,
                    &ld, vectors, &ld, work, size, &result, kOne, kOne);
    return static_cast<int32_t>(b_.library.integer(result));
  }

  int32_t run_complex(char* a, void* values, void* vectors, void* work, const int64_t* size,
                      void* reals) const {
    const int64_t ld = leading(b_.rows);
    int64_t result = 0;
    b_.library.call(Routine::Geev, lapack_type(b_.dtype), &left_, &right_, &b_.rows, a, &ld, values, nullptr_,
                    &ld, vectors, &ld, work, size, reals, &result, kOne, kOne);
    return static_cast<int32_t>(b_.library.integer(result));
  }

  void real_batch(char* a, ComplexOf<T>* values, ComplexOf<T>* vectors, int32_t* info) const {
    const int64_t n = b_.rows, query = -1;
    alignas(16) char answer[16] = {};
    run_real(a, reinterpret_cast<T*>(answer), reinterpret_cast<T*>(answer), answer, answer, &query);
    const int64_t size = asked_for(b_.dtype, answer);
    over_batch(b_, [&](int64_t begin, int64_t end) {
      const TL_ISA_NAMESPACE::Workspace<T> work(size), re(n), im(n), columns(vectors ? n * n : 1);
      for (int64_t i = begin; i < end; ++i) {
        info[i] =
            run_real(a + i * n * n * sizeof(T), re.data(), im.data(), columns.data(), work.data(), &size);
        for (int64_t k = 0; k < n; ++k) values[i * n + k] = {re.data()[k], im.data()[k]};
        if (vectors) complex_vectors(columns.data(), im.data(), vectors + i * n * n, n);
      }
    });
  }

  void complex_batch(char* a, ComplexOf<T>* values, ComplexOf<T>* vectors, int32_t* info) const {
    const int64_t n = b_.rows, query = -1;
    alignas(16) char answer[16] = {}, reals[16] = {};
    run_complex(a, answer, answer, answer, &query, reals);
    const int64_t size = asked_for(b_.dtype, answer);
    over_batch(b_, [&](int64_t begin, int64_t end) {
      const TL_ISA_NAMESPACE::Workspace<T> work(2 * size), reals(2 * n);
      for (int64_t i = begin; i < end; ++i)
        info[i] = run_complex(a + i * n * n * sizeof(ComplexOf<T>), values + i * n,
                              vectors ? vectors + i * n * n : nullptr, work.data(), &size, reals.data());
    });
  }

 private:
  const MatrixBatch& b_;
  char left_ = 'N', right_;
  void* nullptr_ = nullptr;
};

template <class T>
void geev_of(const MatrixBatch& b, char* a, char* values, char* vectors, int32_t* info) {
  const Geev<T> solver(b, vectors);
  auto* l = reinterpret_cast<ComplexOf<T>*>(values);
  auto* v = reinterpret_cast<ComplexOf<T>*>(vectors);
  is_complex(b.dtype) ? solver.complex_batch(a, l, v, info) : solver.real_batch(a, l, v, info);
}
}  // namespace

void geev(const MatrixBatch& b, char* a, char* values, char* vectors, int32_t* info) {
  is_single(b.dtype) ? geev_of<float>(b, a, values, vectors, info)
                     : geev_of<double>(b, a, values, vectors, info);
}

// ---- singular values: divide and conquer ------------------------------------------------------------------
void gesdd(const MatrixBatch& b, char job, char* a, char* u, char* values, char* vh, int32_t* info) {
  const int64_t item = item_size(b.dtype), real = real_size(b.dtype), few = std::min(b.rows, b.columns);
  const int64_t many = std::max(b.rows, b.columns), lda = leading(b.rows);
  const int64_t columns_u = job == 'A' ? b.rows : few, rows_v = job == 'A' ? b.columns : few,
                ldv = leading(rows_v);
  const bool complex = is_complex(b.dtype);
  // LAPACK's documented least size of rwork, which no query tells.
  const int64_t reals = !complex     ? 1
                        : job == 'N' ? 7 * few
                                     : few * std::max(5 * few + 7, 2 * many + 2 * few + 1);
  auto run = [&](char* m, char* left, char* s, char* right, void* work, const int64_t* size, void* rwork,
                 void* iwork) {
    int64_t result = 0;
    const int type = lapack_type(b.dtype);
    if (complex)
      b.library.call(Routine::Gesdd, type, &job, &b.rows, &b.columns, m, &lda, s, left, &lda, right, &ldv,
                     work, size, rwork, iwork, &result, kOne);
    else
      b.library.call(Routine::Gesdd, type, &job, &b.rows, &b.columns, m, &lda, s, left, &lda, right, &ldv,
                     work, size, iwork, &result, kOne);
    return static_cast<int32_t>(b.library.integer(result));
  };
  alignas(16) char answer[16] = {};
  const int64_t query = -1;
  run(a, u, values, vh, answer, &query, answer, answer);
  const int64_t size = asked_for(b.dtype, answer);
  const bool vectors = job != 'N';
  over_batch(b, [&](int64_t begin, int64_t end) {
    const Bytes work(size * item), rwork(leading(reals) * real), iwork(leading(few) * 8 * 8);
    for (int64_t i = begin; i < end; ++i)
      info[i] = run(a + i * b.rows * b.columns * item, vectors ? u + i * b.rows * columns_u * item : nullptr,
                    values + i * few * real, vectors ? vh + i * rows_v * b.columns * item : nullptr,
                    work.data(), &size, rwork.data(), iwork.data());
  });
}

// ---- least squares ----------------------------------------------------------------------------------------
namespace {
struct LeastSquaresCall {
  const MatrixBatch& b;
  const LeastSquares& how;

  struct Buffers {
    void *work, *reals, *integers;
    const int64_t* size;
  };

  // One call of gels, gelsy, gelsd or gelss; real and complex forms differ in their workspaces.
  int32_t run(char* a, char* rhs, char* values, int64_t* rank, const Buffers& w) const {
    const int64_t lda = leading(b.rows), ldb = leading(std::max(b.rows, b.columns));
    const float single = static_cast<float>(how.rcond);
    const void* rcond = is_single(b.dtype) ? static_cast<const void*>(&single) : &how.rcond;
    const bool complex = is_complex(b.dtype);
    const int type = lapack_type(b.dtype);
    const char op = 'N';
    int64_t result = 0;
    auto call = [&](auto... tail) {
      b.library.call(how.driver, type, &b.rows, &b.columns, &how.rhs_columns, a, &lda, rhs, &ldb, tail...);
    };
    if (how.driver == Routine::Gels)
      b.library.call(how.driver, type, &op, &b.rows, &b.columns, &how.rhs_columns, a, &lda, rhs, &ldb, w.work,
                     w.size, &result, kOne);
    else if (how.driver == Routine::Gelsy)
      complex ? call(w.integers, rcond, rank, w.work, w.size, w.reals, &result)
              : call(w.integers, rcond, rank, w.work, w.size, &result);
    else if (how.driver == Routine::Gelsd)
      complex ? call(values, rcond, rank, w.work, w.size, w.reals, w.integers, &result)
              : call(values, rcond, rank, w.work, w.size, w.integers, &result);
    else
      complex ? call(values, rcond, rank, w.work, w.size, w.reals, &result)
              : call(values, rcond, rank, w.work, w.size, &result);
    *rank = b.library.integer(*rank);
    return static_cast<int32_t>(b.library.integer(result));
  }
};
}  // namespace

void least_squares(const MatrixBatch& b, const LeastSquares& how, char* a, char* rhs, int64_t* ranks,
                   char* singular_values, int32_t* info) {
  const LeastSquaresCall solver{b, how};
  const int64_t item = item_size(b.dtype), real = real_size(b.dtype);
  const int64_t few = std::min(b.rows, b.columns), tall = std::max(b.rows, b.columns);
  // gelsd tells its sizes of rwork and iwork, but not all versions rightly: LAPACK's documented bounds, with
  // 32 levels of its tree (smlsiz 25).
  const int64_t reals =
      2 * tall + few * (10 + 2 * 25 + 8 * 32) + 3 * 25 * how.rhs_columns + 26 * 26 + 5 * few + 64;
  const int64_t integers = 3 * few * 32 + 11 * few + b.columns + 64;
  alignas(16) char answer[16] = {};
  int64_t rank = 0;
  const int64_t query = -1;
  const Bytes query_reals(reals * real), query_integers(integers * 8);
  solver.run(a, rhs, singular_values, &rank, {answer, query_reals.data(), query_integers.data(), &query});
  const int64_t size = asked_for(b.dtype, answer);
  over_batch(b, [&](int64_t begin, int64_t end) {
    const Bytes work(size * item), rwork(reals * real), iwork(integers * 8);
    for (int64_t i = begin; i < end; ++i) {
      std::fill_n(iwork.data(), integers * 8, 0);  // gelsy: every column may be exchanged
      ranks[i] = 0;
      info[i] = solver.run(a + i * b.rows * b.columns * item, rhs + i * tall * how.rhs_columns * item,
                           singular_values + i * few * real, ranks + i,
                           {work.data(), rwork.data(), iwork.data(), &size});
    }
  });
}

}  // namespace tl::cpu

// isa: all
// LU and Cholesky of small matrices, a matrix a lane: no lane sees another, so batches need no loop over
// them.
#include "kernels/cpu/linalg/small_matrices.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kElements = kSmallOrder * kSmallOrder;

// Element (i, j) of kLanes<T> column-major matrices, as a vector.
template <class T>
class LaneMatrix {
 public:
  using V = Vec<T>;
  static constexpr int64_t W = kLanes<T>;

  explicit LaneMatrix(int64_t rows) : rows_(rows) {}

  V& operator()(int64_t i, int64_t j) { return elements_[j * rows_ + i]; }

  // `lanes` square matrices of which `first` is the first.
  void load(const SmallMatrices& s, int64_t first, int64_t lanes) {
    load(reinterpret_cast<const T*>(s.from) + first * s.n * s.n, s.n, s.n * s.n, lanes);
    if (!s.row_major) return;
    for (int64_t j = 0; j < s.n; ++j)
      for (int64_t i = j + 1; i < s.n; ++i) std::swap((*this)(i, j), (*this)(j, i));
  }

  // `lanes` column-major matrices of rows x columns, `stride` elements apart; other lanes become the
  // identity.
  void load(const T* from, int64_t columns, int64_t stride, int64_t lanes) {
    T* to = reinterpret_cast<T*>(elements_);
    const int64_t count = rows_ * columns;
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t e = 0; e < count; ++e) to[e * W + lane] = from[lane * stride + e];
    for (int64_t lane = lanes; lane < W; ++lane)
      for (int64_t e = 0; e < count; ++e) to[e * W + lane] = e % (rows_ + 1) == 0 ? T(1) : T(0);
  }

  void store(T* to, int64_t columns, int64_t stride, int64_t lanes) const {
    const T* from = reinterpret_cast<const T*>(elements_);
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t e = 0; e < rows_ * columns; ++e) to[lane * stride + e] = from[e * W + lane];
  }

  void set_identity() {
    for (int64_t j = 0; j < rows_; ++j)
      for (int64_t i = 0; i < rows_; ++i) (*this)(i, j) = broadcast<V>(i == j);
  }

 private:
  int64_t rows_;
  V elements_[kElements];
};

// The row numbers, and the step that failed, of each lane; as numbers of the elements' type, which are exact.
template <class T>
struct LanePivots {
  Vec<T> rows[kSmallOrder];
  Vec<T> failed{};

  void note_failure(Mask<Vec<T>> where, int64_t step) {
    const Vec<T> number = broadcast<Vec<T>>(static_cast<T>(step + 1));
    failed = select<Vec<T>>(where, select<Vec<T>>(failed == 0, number, failed), failed);
  }

  void store_failed(int32_t* info, int64_t lanes) const {
    for (int64_t lane = 0; lane < lanes; ++lane) info[lane] = static_cast<int32_t>(failed[lane]);
  }
};

// Row k changes places with row `pivot`, which differs from lane to lane.
template <class T>
TL_INLINE void swap_rows(LaneMatrix<T>& a, Vec<T> pivot, int64_t k, int64_t n, int64_t columns) {
  using V = Vec<T>;
  for (int64_t j = 0; j < columns; ++j) {
    const V top = a(k, j);
    V found = top;
    for (int64_t i = k + 1; i < n; ++i) {
      const Mask<V> here = pivot == static_cast<T>(i);
      found = select<V>(here, a(i, j), found);
      a(i, j) = select<V>(here, top, a(i, j));
    }
    a(k, j) = found;
  }
}

// Golub and Van Loan, Matrix Computations, 3.4. After a pivot of 0 the elimination goes on, as LAPACK's does.
template <class T>
void lu(LaneMatrix<T>& a, LanePivots<T>& pivots, int64_t n) {
  using V = Vec<T>;
  for (int64_t k = 0; k < n; ++k) {
    V most = abs(a(k, k)), row = broadcast<V>(static_cast<T>(k));
    for (int64_t i = k + 1; i < n; ++i) {
      const V size = abs(a(i, k));
      const Mask<V> more = size > most;
      most = select<V>(more, size, most);
      row = select<V>(more, broadcast<V>(static_cast<T>(i)), row);
    }
    pivots.rows[k] = row;
    swap_rows(a, row, k, n, n);
    const Mask<V> zero = a(k, k) == 0;
    pivots.note_failure(zero, k);
    const V pivot = select<V>(zero, broadcast<V>(1), a(k, k));
    for (int64_t i = k + 1; i < n; ++i) a(i, k) = a(i, k) / pivot;
    for (int64_t j = k + 1; j < n; ++j)
      for (int64_t i = k + 1; i < n; ++i) a(i, j) = fma(-a(i, k), a(k, j), a(i, j));
  }
}

// b = U^-1 L^-1 P b.
template <class T>
void substitute(LaneMatrix<T>& factors, const LanePivots<T>& pivots, LaneMatrix<T>& b, int64_t n,
                int64_t columns) {
  for (int64_t k = 0; k < n; ++k) swap_rows(b, pivots.rows[k], k, n, columns);
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = k + 1; i < n; ++i) b(i, j) = fma(-factors(i, k), b(k, j), b(i, j));
    for (int64_t k = n - 1; k >= 0; --k) {
      b(k, j) = b(k, j) / factors(k, k);
      for (int64_t i = 0; i < k; ++i) b(i, j) = fma(-factors(i, k), b(k, j), b(i, j));
    }
  }
}

// Column by column (Golub and Van Loan, 4.2): the lower triangle, of which an upper one is the mirror image.
template <class T>
void cholesky(LaneMatrix<T>& a, LanePivots<T>& result, bool upper, int64_t n) {
  const auto at = [&](int64_t i, int64_t j) -> Vec<T>& { return upper ? a(j, i) : a(i, j); };
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t k = 0; k < j; ++k)
      for (int64_t i = j; i < n; ++i) at(i, j) = fma(-at(i, k), at(j, k), at(i, j));
    result.note_failure(~(at(j, j) > 0), j);
    at(j, j) = sqrt(at(j, j));
    for (int64_t i = j + 1; i < n; ++i) {
      at(i, j) = at(i, j) / at(j, j);
      at(j, i) = Vec<T>{};
    }
  }
}

// Calls body(first, lanes) for groups of matrices that fill a vector; the last one may be short.
template <class T, class F>
void over_lanes(const SmallMatrices& s, F body) {
  constexpr int64_t W = kLanes<T>, kTask = 1 << 15;  // multiplications
  const int64_t groups = (s.count + W - 1) / W;
  parallel_for(0, groups, kTask / (s.n * s.n * s.n * W + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) body(g * W, std::min(W, s.count - g * W));
  });
}

template <class T>
void getrf(const SmallMatrices& s, char* factors, int32_t* pivots, int32_t* info) {
  T* const all = reinterpret_cast<T*>(factors);
  over_lanes<T>(s, [&](int64_t first, int64_t lanes) {
    LaneMatrix<T> a(s.n);
    LanePivots<T> p;
    a.load(s, first, lanes);
    lu(a, p, s.n);
    a.store(all + first * s.n * s.n, s.n, s.n * s.n, lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t k = 0; k < s.n; ++k)
        pivots[(first + lane) * s.n + k] = static_cast<int32_t>(p.rows[k][lane]) + 1;
    p.store_failed(info + first, lanes);
  });
}

template <class T>
void invert(const SmallMatrices& s, char* inverses, int32_t* info) {
  T* const all = reinterpret_cast<T*>(inverses);
  over_lanes<T>(s, [&](int64_t first, int64_t lanes) {
    LaneMatrix<T> a(s.n), inverse(s.n);
    LanePivots<T> p;
    a.load(s, first, lanes);
    lu(a, p, s.n);
    inverse.set_identity();
    substitute(a, p, inverse, s.n, s.n);
    inverse.store(all + first * s.n * s.n, s.n, s.n * s.n, lanes);
    p.store_failed(info + first, lanes);
  });
}

template <class T>
void solve(const SmallMatrices& s, char* right, int64_t columns, int32_t* info) {
  T* const b = reinterpret_cast<T*>(right);
  over_lanes<T>(s, [&](int64_t first, int64_t lanes) {
    LaneMatrix<T> a(s.n), x(s.n);
    LanePivots<T> p;
    a.load(s, first, lanes);
    lu(a, p, s.n);
    for (int64_t done = 0; done < columns; done += kSmallOrder) {
      const int64_t some = std::min(kSmallOrder, columns - done);
      T* const part = b + (first * columns + done) * s.n;
      x.load(part, some, s.n * columns, lanes);
      substitute(a, p, x, s.n, some);
      x.store(part, some, s.n * columns, lanes);
    }
    p.store_failed(info + first, lanes);
  });
}

template <class T>
void potrf(const SmallMatrices& s, bool upper, char* factors, int32_t* info) {
  T* const all = reinterpret_cast<T*>(factors);
  over_lanes<T>(s, [&](int64_t first, int64_t lanes) {
    LaneMatrix<T> a(s.n);
    LanePivots<T> p;
    a.load(s, first, lanes);
    cholesky(a, p, upper, s.n);
    a.store(all + first * s.n * s.n, s.n, s.n * s.n, lanes);
    p.store_failed(info + first, lanes);
  });
}

}  // namespace

extern const SmallMatrixKernels small_matrix_tables[2] = {
    {&getrf<float>, &invert<float>, &solve<float>, &potrf<float>},
    {&getrf<double>, &invert<double>, &solve<double>, &potrf<double>}};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const SmallMatrixKernels small_matrix_tables[2])

namespace tl::cpu {

const SmallMatrixKernels& small_matrix_kernels(DType dtype) {
  return TL_SELECT(small_matrix_tables)[dtype == DType::Float64];
}

}  // namespace tl::cpu
#endif

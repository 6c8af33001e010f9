// Dense factorizations: Householder QR, LU with partial pivoting, and the SVD by one-sided Jacobi rotations.
#include "kernels/cpu/linalg/factorizations.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/complex.h"

namespace tl::cpu {

namespace {
using namespace TL_ISA_NAMESPACE;

template <class T>
T conjugate(T x) {
  if constexpr (is_complex_type<T>)
    return conj(x);
  else
    return x;
}

template <class T>
double real_part(T x) {
  if constexpr (is_complex_type<T>)
    return x.re;
  else
    return x;
}

template <class T>
double magnitude(T x) {
  if constexpr (is_complex_type<T>)
    return std::hypot(static_cast<double>(x.re), static_cast<double>(x.im));
  else
    return std::fabs(x);
}

template <class T>
T scalar(double re, double im = 0) {
  if constexpr (is_complex_type<T>)
    return {static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  else
    return static_cast<T>(re);
}

template <class F>
void dispatch_dtype(DType dtype, F f) {
  switch (dtype) {
    case DType::Float32:
      return f(static_cast<float*>(nullptr));
    case DType::Float64:
      return f(static_cast<double*>(nullptr));
    case DType::Complex64:
      return f(static_cast<ComplexOf<float>*>(nullptr));
    case DType::Complex128:
      return f(static_cast<ComplexOf<double>*>(nullptr));
    default:
      __builtin_unreachable();  // operators refuse other dtypes
  }
}

// How much work a task of parallel_for should hold, in multiplications.
constexpr int64_t kTask = 1 << 15;
int64_t grain(int64_t work) { return work >= kTask ? 1 : kTask / (work + 1) + 1; }

// ---- Householder QR: Golub and Van Loan, Matrix Computations, 5.1-5.2, with the signs of LAPACK's geqrf ---
// The 2-norm of a strided vector, scaled so that no square overflows (as LAPACK's nrm2).
template <class T>
double norm2(const T* column, int64_t rows, int64_t stride) {
  double scale = 0, sum = 1;
  for (int64_t i = 0; i < rows; ++i) {
    const double x = magnitude(column[i * stride]);
    if (x == 0) continue;
    const double ratio = scale < x ? scale / x : x / scale;
    sum = scale < x ? 1 + sum * ratio * ratio : sum + ratio * ratio;
    if (scale < x) scale = x;
  }
  return scale * std::sqrt(sum);
}

// Makes a column the vector of a reflection that rotations it to a multiple of the first axis; returns tau.
template <class T>
T householder_vector(T* column, int64_t rows, int64_t stride) {
  const T first = column[0];
  const double rest = norm2(column + stride, rows - 1, stride);
  const bool is_real = magnitude(first) == std::fabs(real_part(first));
  if (rest == 0 && is_real) return scalar<T>(0);
  const double beta = -std::copysign(std::hypot(magnitude(first), rest), real_part(first));
  const T divisor = first - scalar<T>(beta);
  for (int64_t i = 1; i < rows; ++i) column[i * stride] = column[i * stride] / divisor;
  column[0] = scalar<T>(beta);
  if constexpr (is_complex_type<T>)
    return scalar<T>((beta - first.re) / beta, -static_cast<double>(first.im) / beta);
  else
    return scalar<T>((beta - first) / beta);
}

// a = (1 - tau v v^H)^H a, for v = (1, column ...), row by row: `sums` holds v^H a.
template <class T>
void apply_householder(T* a, const T* column, T tau, T* sums, int64_t rows, int64_t columns, int64_t stride) {
  for (int64_t j = 0; j < columns; ++j) sums[j] = a[j];
  for (int64_t i = 1; i < rows; ++i) {
    const T v = conjugate(column[i * stride]);
    for (int64_t j = 0; j < columns; ++j) sums[j] = sums[j] + v * a[i * stride + j];
  }
  for (int64_t j = 0; j < columns; ++j) sums[j] = conjugate(tau) * sums[j];
  for (int64_t j = 0; j < columns; ++j) a[j] = a[j] - sums[j];
  for (int64_t i = 1; i < rows; ++i) {
    const T v = column[i * stride];
    for (int64_t j = 0; j < columns; ++j) a[i * stride + j] = a[i * stride + j] - v * sums[j];
  }
}

template <class T>
void householder_qr(T* a, T* tau, T* sums, int64_t rows, int64_t columns) {
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    T* corner = a + k * columns + k;
    tau[k] = householder_vector(corner, rows - k, columns);
    if (magnitude(tau[k]) != 0)
      apply_householder(corner + 1, corner, tau[k], sums, rows - k, columns - k - 1, columns);
  }
}

// ---- Gaussian elimination (LU) with partial pivoting: Golub and Van Loan, 3.4 -----------------------------
template <class T>
int64_t pivot_row(const T* a, int64_t n, int64_t k) {
  int64_t best = k;
  double most = magnitude(a[k * n + k]);
  for (int64_t i = k + 1; i < n; ++i)
    if (const double x = magnitude(a[i * n + k]); x > most) most = x, best = i;
  return best;
}

template <class T>
void swap_rows(T* one, T* two, int64_t n) {
  for (int64_t j = 0; j < n; ++j) std::swap(one[j], two[j]);
}

template <class T>
void subtract_multiple(T* row, T factor, const T* other, int64_t n) {
  for (int64_t j = 0; j < n; ++j) row[j] = row[j] - factor * other[j];
}

// False if a pivot is 0.
template <class T>
bool lu_eliminate(T* a, T* b, int64_t n, int64_t columns) {
  for (int64_t k = 0; k < n; ++k) {
    if (const int64_t p = pivot_row(a, n, k); p != k) {
      swap_rows(a + k * n, a + p * n, n);
      swap_rows(b + k * columns, b + p * columns, columns);
    }
    const T pivot = a[k * n + k];
    if (magnitude(pivot) == 0) return false;
    for (int64_t i = k + 1; i < n; ++i) {
      const T factor = a[i * n + k] / pivot;
      if (magnitude(factor) == 0) continue;
      subtract_multiple(a + i * n + k, factor, a + k * n + k, n - k);
      subtract_multiple(b + i * columns, factor, b + k * columns, columns);
    }
  }
  return true;
}

template <class T>
void back_substitute(const T* a, T* b, int64_t n, int64_t columns) {
  for (int64_t i = n - 1; i >= 0; --i) {
    T* row = b + i * columns;
    for (int64_t k = i + 1; k < n; ++k) subtract_multiple(row, a[i * n + k], b + k * columns, columns);
    for (int64_t j = 0; j < columns; ++j) row[j] = row[j] / a[i * n + i];
  }
}

// ---- singular values: rotations of two rows make them orthogonal, until all are (Hestenes' method, in -----
// Demmel and Veselić, Jacobi's method is more accurate than QR, 1992)
constexpr int kMaxSweeps = 60;

template <class T>
T inner(const T* x, const T* y, int64_t n) {
  T sum{};
  for (int64_t j = 0; j < n; ++j) sum = sum + x[j] * conjugate(y[j]);
  return sum;
}

template <class T>
struct Rotation {
  double cosine;
  T sine;

  void apply(T* x, T* y, int64_t n) const {
    for (int64_t j = 0; j < n; ++j) {
      const T a = x[j], b = y[j];
      x[j] = a * cosine - sine * b;
      y[j] = conjugate(sine) * a + b * cosine;
    }
  }
};

// The Jacobi rotation that makes rows x and y orthogonal. With c = (|y|^2 - |x|^2) / (2 |xy^H|), tan is the
// smaller root of t^2 + 2ct - 1 = 0. False if they are orthogonal to rounding.
template <class T>
bool jacobi_rotation(const T* x, const T* y, int64_t n, Rotation<T>& r) {
  const double xx = real_part(inner(x, x, n)), yy = real_part(inner(y, y, n));
  const T xy = inner(x, y, n);
  const double size = magnitude(xy), tolerance = std::sqrt(static_cast<double>(n)) * 0x1p-52;
  if (!(size > tolerance * std::sqrt(xx) * std::sqrt(yy))) return false;
  const double cotangent = (yy - xx) / (2 * size);
  const double tangent = std::copysign(1, cotangent) / (std::fabs(cotangent) + std::hypot(1, cotangent));
  r.cosine = 1 / std::hypot(1, tangent);
  r.sine = xy * (r.cosine * tangent / size);
  return true;
}

template <class T>
bool jacobi_sweep(T* a, T* rotations, int64_t n) {
  bool rotated = false;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = i + 1; k < n; ++k) {
      Rotation<T> r;
      if (!jacobi_rotation(a + i * n, a + k * n, n, r)) continue;
      r.apply(a + i * n, a + k * n, n);
      r.apply(rotations + i * n, rotations + k * n, n);
      rotated = true;
    }
  return rotated;
}

template <class T>
void sort_singular_values(T* a, T* rotations, double* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t most = std::max_element(values + i, values + n) - values;
    if (most == i) continue;
    std::swap(values[i], values[most]);
    swap_rows(a + i * n, a + most * n, n);
    swap_rows(rotations + i * n, rotations + most * n, n);
  }
}

// A unit vector that is orthogonal to the rows before: what is left of the axis farthest from them.
template <class T>
void complete_basis(T* a, int64_t row, int64_t n) {
  int64_t axis = 0;
  double least = 2;
  for (int64_t j = 0; j < n; ++j) {
    double share = 0;
    for (int64_t i = 0; i < row; ++i) share += magnitude(a[i * n + j]) * magnitude(a[i * n + j]);
    if (share < least) least = share, axis = j;
  }
  T* x = a + row * n;
  for (int64_t j = 0; j < n; ++j) x[j] = scalar<T>(j == axis);
  for (int pass = 0; pass < 2; ++pass)  // once is not enough where little is left
    for (int64_t i = 0; i < row; ++i) subtract_multiple(x, inner(x, a + i * n, n), a + i * n, n);
  const double size = norm2(x, n, 1);
  for (int64_t j = 0; j < n; ++j) x[j] = x[j] * (1 / size);
}

template <class T>
void one_sided_jacobi(T* a, T* rotations, double* values, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n * n; ++i) most = std::max(most, magnitude(a[i]));
  const int scale = most > 0 && std::isfinite(most) ? std::ilogb(most) : 0;  // squares stay in range
  for (int64_t i = 0; i < n * n; ++i) {
    a[i] = a[i] * std::ldexp(1, -scale);
    rotations[i] = scalar<T>(i % (n + 1) == 0);
  }
  for (int i = 0; i < kMaxSweeps && jacobi_sweep(a, rotations, n); ++i) {
  }
  for (int64_t i = 0; i < n; ++i) values[i] = norm2(a + i * n, n, 1);
  sort_singular_values(a, rotations, values, n);
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] == 0) {
      complete_basis(a, i, n);
      continue;
    }
    for (int64_t j = 0; j < n; ++j) a[i * n + j] = a[i * n + j] * (1 / values[i]);
    values[i] = std::ldexp(values[i], scale);
  }
}
}  // namespace

void geqrf(DType dtype, char* a, char* tau, int64_t count, int64_t rows, int64_t columns) {
  dispatch_dtype(dtype, [&]<class T>(T*) {
    const int64_t size = rows * columns, rank_bound = std::min(rows, columns);
    parallel_for(0, count, grain(size * rank_bound), [&](int64_t begin, int64_t end) {
      const Workspace<T> sums(columns);
      for (int64_t i = begin; i < end; ++i)
        householder_qr(reinterpret_cast<T*>(a) + i * size, reinterpret_cast<T*>(tau) + i * rank_bound,
                       sums.data(), rows, columns);
    });
  });
}

int64_t solve(DType dtype, char* a, char* b, int64_t count, int64_t n, int64_t columns) {
  std::atomic<int64_t> singular{count};
  dispatch_dtype(dtype, [&]<class T>(T*) {
    parallel_for(0, count, grain(n * n * (n + columns)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T *left = reinterpret_cast<T*>(a) + i * n * n, *right = reinterpret_cast<T*>(b) + i * n * columns;
        if (lu_eliminate(left, right, n, columns)) {
          back_substitute(left, right, n, columns);
          continue;
        }
        int64_t first = singular.load();
        while (i < first && !singular.compare_exchange_weak(first, i)) {
        }
      }
    });
  });
  return singular == count ? -1 : singular.load();
}

void jacobi_svd(DType dtype, char* a, char* rotations, double* values, int64_t count, int64_t n) {
  const auto run = [&]<class T>(T*) {
    parallel_for(0, count, grain(n * n * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        one_sided_jacobi(reinterpret_cast<T*>(a) + i * n * n, reinterpret_cast<T*>(rotations) + i * n * n,
                         values + i * n, n);
    });
  };
  if (is_complex(dtype))
    run(static_cast<ComplexOf<double>*>(nullptr));
  else
    run(static_cast<double*>(nullptr));
}

}  // namespace tl::cpu

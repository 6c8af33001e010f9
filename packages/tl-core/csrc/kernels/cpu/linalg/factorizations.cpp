#include "kernels/cpu/linalg/factorizations.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "base/error.h"
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
void with_field(DType dtype, F f) {
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
      fail(ErrorKind::NotImplemented, "decompositions are not implemented for ", dtype_name(dtype));
  }
}

// How much work a task of parallel_for should hold, in multiplications.
constexpr int64_t kTask = 1 << 15;
int64_t grain(int64_t work) { return work >= kTask ? 1 : kTask / (work + 1) + 1; }

// ---- reflections: Golub and Van Loan, Matrix Computations, 5.2.2, with the signs of LAPACK's geqrf
// The length of a column from a row on, without overflow on the way.
template <class T>
double length(const T* column, int64_t rows, int64_t stride) {
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

// Makes a column the vector of a reflection that turns it to a multiple of the first axis; returns tau.
template <class T>
T reflection(T* column, int64_t rows, int64_t stride) {
  const T first = column[0];
  const double rest = length(column + stride, rows - 1, stride);
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
void reflect(T* a, const T* column, T tau, T* sums, int64_t rows, int64_t columns, int64_t stride) {
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
void reflections_of(T* a, T* tau, T* sums, int64_t rows, int64_t columns) {
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    T* corner = a + k * columns + k;
    tau[k] = reflection(corner, rows - k, columns);
    if (magnitude(tau[k]) != 0) reflect(corner + 1, corner, tau[k], sums, rows - k, columns - k - 1, columns);
  }
}

// ---- elimination with exchanged rows: Golub and Van Loan, 3.4
template <class T>
int64_t pivot_row(const T* a, int64_t n, int64_t k) {
  int64_t best = k;
  double most = magnitude(a[k * n + k]);
  for (int64_t i = k + 1; i < n; ++i)
    if (const double x = magnitude(a[i * n + k]); x > most) most = x, best = i;
  return best;
}

template <class T>
void exchange(T* one, T* two, int64_t n) {
  for (int64_t j = 0; j < n; ++j) std::swap(one[j], two[j]);
}

template <class T>
void subtract(T* row, T factor, const T* other, int64_t n) {
  for (int64_t j = 0; j < n; ++j) row[j] = row[j] - factor * other[j];
}

// False if a pivot is 0.
template <class T>
bool eliminate(T* a, T* b, int64_t n, int64_t columns) {
  for (int64_t k = 0; k < n; ++k) {
    if (const int64_t p = pivot_row(a, n, k); p != k) {
      exchange(a + k * n, a + p * n, n);
      exchange(b + k * columns, b + p * columns, columns);
    }
    const T pivot = a[k * n + k];
    if (magnitude(pivot) == 0) return false;
    for (int64_t i = k + 1; i < n; ++i) {
      const T factor = a[i * n + k] / pivot;
      if (magnitude(factor) == 0) continue;
      subtract(a + i * n + k, factor, a + k * n + k, n - k);
      subtract(b + i * columns, factor, b + k * columns, columns);
    }
  }
  return true;
}

template <class T>
void substitute_back(const T* a, T* b, int64_t n, int64_t columns) {
  for (int64_t i = n - 1; i >= 0; --i) {
    T* row = b + i * columns;
    for (int64_t k = i + 1; k < n; ++k) subtract(row, a[i * n + k], b + k * columns, columns);
    for (int64_t j = 0; j < columns; ++j) row[j] = row[j] / a[i * n + i];
  }
}

// ---- singular values: rotations of two rows make them orthogonal, until all are (Hestenes' method, in
// Demmel and Veselić, Jacobi's method is more accurate than QR, 1992)
constexpr int kSweeps = 60;

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

// False if the rows are orthogonal already.
template <class T>
bool rotation_of(const T* x, const T* y, int64_t n, Rotation<T>& r) {
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
bool sweep(T* a, T* turns, int64_t n) {
  bool turned = false;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = i + 1; k < n; ++k) {
      Rotation<T> r;
      if (!rotation_of(a + i * n, a + k * n, n, r)) continue;
      r.apply(a + i * n, a + k * n, n);
      r.apply(turns + i * n, turns + k * n, n);
      turned = true;
    }
  return turned;
}

template <class T>
void order_rows(T* a, T* turns, double* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t most = std::max_element(values + i, values + n) - values;
    if (most == i) continue;
    std::swap(values[i], values[most]);
    exchange(a + i * n, a + most * n, n);
    exchange(turns + i * n, turns + most * n, n);
  }
}

// A unit vector that is orthogonal to the rows before: what is left of the axis farthest from them.
template <class T>
void complete_row(T* a, int64_t row, int64_t n) {
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
    for (int64_t i = 0; i < row; ++i) subtract(x, inner(x, a + i * n, n), a + i * n, n);
  const double size = length(x, n, 1);
  for (int64_t j = 0; j < n; ++j) x[j] = x[j] * (1 / size);
}

template <class T>
void singular_values_of(T* a, T* turns, double* values, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n * n; ++i) most = std::max(most, magnitude(a[i]));
  const int scale = most > 0 && std::isfinite(most) ? std::ilogb(most) : 0;  // squares stay in range
  for (int64_t i = 0; i < n * n; ++i) {
    a[i] = a[i] * std::ldexp(1, -scale);
    turns[i] = scalar<T>(i % (n + 1) == 0);
  }
  for (int i = 0; i < kSweeps && sweep(a, turns, n); ++i) {
  }
  for (int64_t i = 0; i < n; ++i) values[i] = length(a + i * n, n, 1);
  order_rows(a, turns, values, n);
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] == 0) {
      complete_row(a, i, n);
      continue;
    }
    for (int64_t j = 0; j < n; ++j) a[i * n + j] = a[i * n + j] * (1 / values[i]);
    values[i] = std::ldexp(values[i], scale);
  }
}
}  // namespace

void reflections(DType dtype, char* a, char* tau, int64_t count, int64_t rows, int64_t columns) {
  with_field(dtype, [&]<class T>(T*) {
    const int64_t size = rows * columns, fewer = std::min(rows, columns);
    parallel_for(0, count, grain(size * fewer), [&](int64_t begin, int64_t end) {
      const Workspace<T> sums(columns);
      for (int64_t i = begin; i < end; ++i)
        reflections_of(reinterpret_cast<T*>(a) + i * size, reinterpret_cast<T*>(tau) + i * fewer, sums.data(),
                       rows, columns);
    });
  });
}

int64_t solve(DType dtype, char* a, char* b, int64_t count, int64_t n, int64_t columns) {
  std::atomic<int64_t> singular{count};
  with_field(dtype, [&]<class T>(T*) {
    parallel_for(0, count, grain(n * n * (n + columns)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T *left = reinterpret_cast<T*>(a) + i * n * n, *right = reinterpret_cast<T*>(b) + i * n * columns;
        if (eliminate(left, right, n, columns)) {
          substitute_back(left, right, n, columns);
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

void singular_values(DType dtype, char* a, char* turns, double* values, int64_t count, int64_t n) {
  const auto run = [&]<class T>(T*) {
    parallel_for(0, count, grain(n * n * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        singular_values_of(reinterpret_cast<T*>(a) + i * n * n, reinterpret_cast<T*>(turns) + i * n * n,
                           values + i * n, n);
    });
  };
  if (is_complex(dtype))
    run(static_cast<ComplexOf<double>*>(nullptr));
  else
    run(static_cast<double*>(nullptr));
}

}  // namespace tl::cpu

// The choice of the element type; integers and complex numbers, one element at a time.
#include "kernels/cpu/sparse/csr.h"

#include "kernels/cpu/sparse/row_parts.h"

namespace tl::cpu {

bool float_csr_mm(bool wide, const CompressedRows& a, const char* values, const DenseRows& b, char* out);
bool float_csr_sampled_mm(bool wide, const CompressedRows& a, const DenseRows& x, const DenseRows& y,
                          char* out);
bool float_bsr_mm(bool wide, const CompressedRows& a, const char* values, int64_t r, int64_t c,
                  const DenseRows& b, char* out);

namespace {
template <class F>
bool each_row(const CompressedRows& a, int64_t cost, F f) {
  return each_checked_part(a, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

int64_t product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class R>
ComplexOf<R> product(ComplexOf<R> a, ComplexOf<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
ComplexOf<R> sum(ComplexOf<R> a, ComplexOf<R> b) {
  return {a.re + b.re, a.im + b.im};
}

template <class T>
bool mm(const CompressedRows& a, const char* values, const DenseRows& b, char* out) {
  const T *value = reinterpret_cast<const T*>(values), *x = reinterpret_cast<const T*>(b.data);
  return each_row(a, b.width, [&](int64_t i) {
    T* row = reinterpret_cast<T*>(out) + i * b.width;
    for (int64_t j = 0; j < b.width; ++j) row[j] = T{};
    for (int64_t p = a.offsets[i]; p < a.offsets[i + 1]; ++p) {
      const T* from = x + a.columns[p] * b.stride;
      for (int64_t j = 0; j < b.width; ++j) row[j] = sum(row[j], product(value[p], from[j]));
    }
  });
}

template <class T>
bool sampled_mm(const CompressedRows& a, const DenseRows& x, const DenseRows& y, char* out) {
  return each_row(a, x.width, [&](int64_t i) {
    const T* left = reinterpret_cast<const T*>(x.data) + i * x.stride;
    for (int64_t p = a.offsets[i]; p < a.offsets[i + 1]; ++p) {
      const T* right = reinterpret_cast<const T*>(y.data) + a.columns[p] * y.stride;
      T total{};
      for (int64_t t = 0; t < x.width; ++t) total = sum(total, product(left[t], right[t]));
      reinterpret_cast<T*>(out)[p] = total;
    }
  });
}
}  // namespace

bool csr_mm(DType dtype, const CompressedRows& a, const char* values, const DenseRows& b, char* out) {
  switch (dtype) {
    case DType::Int64:
      return mm<int64_t>(a, values, b, out);
    case DType::Complex64:
      return mm<Complex64>(a, values, b, out);
    case DType::Complex128:
      return mm<Complex128>(a, values, b, out);
    default:
      return float_csr_mm(dtype == DType::Float64, a, values, b, out);
  }
}

bool csr_sampled_mm(DType dtype, const CompressedRows& a, const DenseRows& x, const DenseRows& y, char* out) {
  switch (dtype) {
    case DType::Int64:
      return sampled_mm<int64_t>(a, x, y, out);
    case DType::Complex64:
      return sampled_mm<Complex64>(a, x, y, out);
    case DType::Complex128:
      return sampled_mm<Complex128>(a, x, y, out);
    default:
      return float_csr_sampled_mm(dtype == DType::Float64, a, x, y, out);
  }
}

bool bsr_mm(DType dtype, const CompressedRows& a, const char* values, int64_t r, int64_t c,
            const DenseRows& b, char* out) {
  return float_bsr_mm(dtype == DType::Float64, a, values, r, c, b, out);
}

}  // namespace tl::cpu

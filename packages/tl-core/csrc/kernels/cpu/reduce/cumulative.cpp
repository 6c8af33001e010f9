// logcumsumexp: log-add-exp from element to element, in double precision.
#include "kernels/cpu/reduce/cumulative.h"

#include <complex>

#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu {

namespace {

using namespace base;

// log(e^a + e^b) = max + log1p(e^(min - max)), without overflow.
double log_add_exp(double a, double b) {
  if (a != a || b != b) return a + b;
  const double high = a > b ? a : b, low = a > b ? b : a;
  if (std::isinf(high)) return high == low || high > 0 ? high : low;
  return high + std::log1p(std::exp(low - high));
}

Complex128 log_add_exp(Complex128 a, Complex128 b) {
  if (a.re < b.re) std::swap(a, b);
  if (std::isinf(b.re) && b.re < 0) return a;
  const std::complex<double> sum = 1.0 + std::exp(std::complex<double>(b.re - a.re, b.im - a.im));
  const std::complex<double> log = std::log(sum);
  return {a.re + log.real(), a.im + log.imag()};
}

template <class T, class Wide>
void logcumsumexp_rows(const AlongShape& s, char* const* data) {
  for_each_lines<2>(s, data, 1, [&](char* const* at, int64_t) {
    Wide total = convert<Wide>(load_one<T>(at[1]));
    for (int64_t i = 0; i < s.n; ++i) {
      if (i > 0) total = log_add_exp(total, convert<Wide>(load_one<T>(at[1] + i * s.along[1])));
      store_one<T>(at[0] + i * s.along[0], convert<OpMath<T>>(total));
    }
  });
}

}  // namespace

void logcumsumexp(DType dtype, const AlongShape& shape, char* out, const char* in) {
  char* const data[] = {out, const_cast<char*>(in)};
  switch (dtype) {
    case DType::Float16:
      return logcumsumexp_rows<Half, double>(shape, data);
    case DType::BFloat16:
      return logcumsumexp_rows<BFloat16, double>(shape, data);
    case DType::Float32:
      return logcumsumexp_rows<float, double>(shape, data);
    case DType::Float64:
      return logcumsumexp_rows<double, double>(shape, data);
    case DType::Complex64:
      return logcumsumexp_rows<Complex64, Complex128>(shape, data);
    case DType::Complex128:
      return logcumsumexp_rows<Complex128, Complex128>(shape, data);
    default:
      __builtin_unreachable();  // operators refuse other dtypes
  }
}

}  // namespace tl::cpu

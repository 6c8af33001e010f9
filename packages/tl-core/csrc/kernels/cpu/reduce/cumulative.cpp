#include "kernels/cpu/reduce/cumulative.h"

#include <complex>

#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu {

namespace {

using namespace base;

double log_of_sum(double a, double b) {
  if (a != a || b != b) return a + b;
  const double high = a > b ? a : b, low = a > b ? b : a;
  if (std::isinf(high)) return high == low || high > 0 ? high : low;
  return high + std::log1p(std::exp(low - high));
}

Complex128 log_of_sum(Complex128 a, Complex128 b) {
  if (a.re < b.re) std::swap(a, b);
  if (std::isinf(b.re) && b.re < 0) return a;
  const std::complex<double> sum = 1.0 + std::exp(std::complex<double>(b.re - a.re, b.im - a.im));
  const std::complex<double> log = std::log(sum);
  return {a.re + log.real(), a.im + log.imag()};
}

template <class T, class Wide>
void logsumexp_lines(const AlongShape& s, char* const* data) {
  for_each_lines<2>(s, data, 1, [&](char* const* at, int64_t) {
    Wide running = convert<Wide>(load_one<T>(at[1]));
    for (int64_t i = 0; i < s.n; ++i) {
      if (i > 0) running = log_of_sum(running, convert<Wide>(load_one<T>(at[1] + i * s.along[1])));
      store_one<T>(at[0] + i * s.along[0], convert<OpMath<T>>(running));
    }
  });
}

}  // namespace

void running_logsumexp(DType dtype, const AlongShape& shape, char* out, const char* in) {
  char* const data[] = {out, const_cast<char*>(in)};
  switch (dtype) {
    case DType::Float16:
      return logsumexp_lines<Half, double>(shape, data);
    case DType::BFloat16:
      return logsumexp_lines<BFloat16, double>(shape, data);
    case DType::Float32:
      return logsumexp_lines<float, double>(shape, data);
    case DType::Float64:
      return logsumexp_lines<double, double>(shape, data);
    case DType::Complex64:
      return logsumexp_lines<Complex64, Complex128>(shape, data);
    case DType::Complex128:
      return logsumexp_lines<Complex128, Complex128>(shape, data);
    default:
      __builtin_unreachable();  // operators refuse other dtypes
  }
}

}  // namespace tl::cpu

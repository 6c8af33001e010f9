// Range fills (arange and its like): every element from its index in closed form, in parallel.
#include "kernels/cpu/elementwise/fill.h"

#include "base/parallel.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu {

namespace {

using namespace base;

constexpr int64_t kGrain = 1 << 15;

template <class T, class F>
void generate(char* out, int64_t stride, int64_t n, F f) {
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    if (stride == static_cast<int64_t>(sizeof(T))) {
      for (int64_t i = begin; i < end; ++i) store_one<T>(out + i * sizeof(T), convert<OpMath<T>>(f(i)));
    } else {
      for (int64_t i = begin; i < end; ++i) store_one<T>(out + i * stride, convert<OpMath<T>>(f(i)));
    }
  });
}

template <class T>
void arange_dtype(char* out, int64_t stride, int64_t n, Number start, Number step) {
  if constexpr (std::is_integral_v<T>) {
    const uint64_t first = static_cast<uint64_t>(start.whole), by = static_cast<uint64_t>(step.whole);
    generate<T>(out, stride, n, [=](int64_t i) { return first + static_cast<uint64_t>(i) * by; });
  } else {
    generate<T>(out, stride, n, [=](int64_t i) { return start.real + static_cast<double>(i) * step.real; });
  }
}

template <class T>
void linspace_dtype(char* out, int64_t stride, int64_t n, Number start, Number end) {
  const double step = n > 1 ? (end.real - start.real) / static_cast<double>(n - 1) : 0;
  generate<T>(out, stride, n, [=](int64_t i) {
    return i < n / 2 || n == 1 ? start.real + static_cast<double>(i) * step
                               : end.real - static_cast<double>(n - 1 - i) * step;
  });
}

}  // namespace

void arange(DType dtype, char* out, int64_t stride, int64_t n, Number start, Number step) {
  switch (dtype) {
#define TL_CASE(E, T, name) \
  case DType::E:            \
    return arange_dtype<T>(out, stride, n, start, step);
    TL_ALL_DTYPES(TL_CASE)
#undef TL_CASE
  }
}

void linspace(DType dtype, char* out, int64_t stride, int64_t n, Number start, Number end) {
  switch (dtype) {
#define TL_CASE(E, T, name) \
  case DType::E:            \
    return linspace_dtype<T>(out, stride, n, start, end);
    TL_ALL_DTYPES(TL_CASE)
#undef TL_CASE
  }
}

}  // namespace tl::cpu

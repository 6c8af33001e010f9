// isa: all
// Range fills (arange and its like): every element from its index in closed form, in parallel.
#include "kernels/cpu/elementwise/fill.h"

#include "base/parallel.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kGrain = 1 << 15;

template <class T, class F>
void generate(char* out, int64_t stride, int64_t n, F f) {
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) store_one<T>(out + i * stride, convert<OpMath<T>>(f(i)));
  });
}
template <class T, class F>
void generate_whole(char* out, int64_t stride, int64_t n, F f) {
  if (stride == static_cast<int64_t>(sizeof(T))) return generate<T>(out, sizeof(T), n, f);
  generate<T>(out, stride, n, f);
}

// The same of indices in double, whole vectors of them where the elements lie side by side.
template <class T, class F>
void generate_real(char* out, int64_t stride, int64_t n, F f) {
  if constexpr (has_float_lanes<OpMath<T>>) {
    if (stride == static_cast<int64_t>(sizeof(T))) {
      constexpr int kStep = kLanes<OpMath<T>>;
      const auto at = [&](int64_t i) { return f(iota<VecD>() + static_cast<double>(i)); };
      const auto values = [&](int64_t i) {
        if constexpr (std::is_same_v<OpMath<T>, double>)
          return at(i);
        else
          return join(at(i), at(i + kStep / 2));
      };
      return parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
        int64_t i = begin;
        for (; i + kStep <= end; i += kStep) store<T>(out + i * sizeof(T), values(i));
        if (i < end) store_partial<T>(out + i * sizeof(T), static_cast<int>(end - i), values(i));
      });
    }
  }
  generate<T>(out, stride, n, [=](int64_t i) { return f(static_cast<double>(i)); });
}

template <class T>
void arange_dtype(char* out, int64_t stride, int64_t n, Number start, Number step) {
  if constexpr (std::is_integral_v<T>) {
    const uint64_t first = static_cast<uint64_t>(start.whole), by = static_cast<uint64_t>(step.whole);
    generate_whole<T>(out, stride, n, [=](int64_t i) { return first + static_cast<uint64_t>(i) * by; });
  } else {
    generate_real<T>(out, stride, n, [=](auto i) { return start.real + i * step.real; });
  }
}

template <class T>
void linspace_dtype(char* out, int64_t stride, int64_t n, Number start, Number end) {
  const double step = n > 1 ? (end.real - start.real) / static_cast<double>(n - 1) : 0;
  const double middle = n == 1 ? 1 : static_cast<double>(n / 2), last = static_cast<double>(n - 1);
  const auto at = [=](auto i) {
    using V = decltype(i);
    return select<V>(i < middle, start.real + i * step, end.real - (last - i) * step);
  };
  if constexpr (std::is_integral_v<T>)
    generate_whole<T>(out, stride, n, [=](int64_t i) { return at(static_cast<double>(i)); });
  else
    generate_real<T>(out, stride, n, at);
}

}  // namespace

using Fill = void (*)(char* out, int64_t stride, int64_t n, Number start, Number step_or_end);

#define TL_ENTRY(E, T, name) &arange_dtype<T>,
extern const Fill arange_fills[kNumDTypes] = {TL_ALL_DTYPES(TL_ENTRY)};
#undef TL_ENTRY
#define TL_ENTRY(E, T, name) &linspace_dtype<T>,
extern const Fill linspace_fills[kNumDTypes] = {TL_ALL_DTYPES(TL_ENTRY)};
#undef TL_ENTRY

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using Fill = void (*)(char*, int64_t, int64_t, Number, Number);
          extern const Fill arange_fills[kNumDTypes]; extern const Fill linspace_fills[kNumDTypes])

namespace tl::cpu {

void arange(DType dtype, char* out, int64_t stride, int64_t n, Number start, Number step) {
  TL_SELECT(arange_fills)[static_cast<int>(dtype)](out, stride, n, start, step);
}
void linspace(DType dtype, char* out, int64_t stride, int64_t n, Number start, Number end) {
  TL_SELECT(linspace_fills)[static_cast<int>(dtype)](out, stride, n, start, end);
}

}  // namespace tl::cpu
#endif

#include "kernels/cpu/scan.h"

#include "kernels/cpu/along_driver.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/functions/arithmetic.h"
#include "kernels/cpu/memory.h"

namespace tl::cpu {

namespace {

using namespace base;

template <class T>
struct RunningOf {
  using type = Compute<T>;
};
template <>
struct RunningOf<float> {
  using type = double;
};
template <>
struct RunningOf<Complex64> {
  using type = Complex128;
};
template <class T>
using Running = typename RunningOf<T>::type;

template <class T, bool products>
TL_INLINE T combine(T a, T b) {
  if constexpr (products)
    return times(a, b);
  else
    return plus(a, b);
}

// Lines side by side keep their running values in a small array, so that memory is read in its order.
template <class T, bool products>
void scan_lines(const AlongShape& s, char* const* data) {
  using R = Running<T>;
  constexpr int64_t kWidth = 64;
  for_each_lines<2>(s, data, kWidth, [&](char* const* at, int64_t lines) {
    R running[kWidth];
    for (int64_t c = 0; c < lines; ++c) running[c] = products ? one_like(R{}) : R{};
    const int64_t out_step = s.dims ? s.strides[0][0] : 0, in_step = s.dims ? s.strides[1][0] : 0;
    for (int64_t i = 0; i < s.n; ++i) {
      char* out = at[0] + i * s.along[0];
      const char* in = at[1] + i * s.along[1];
      for (int64_t c = 0; c < lines; ++c) {
        running[c] = combine<R, products>(running[c], convert<R>(load_one<T>(in + c * in_step)));
        store_one<T>(out + c * out_step, convert<Compute<T>>(running[c]));
      }
    }
  });
}

// Whether elements may be combined before they meet those in front: without loss, or in a wider type.
template <class T>
inline constexpr bool is_groupable = std::is_integral_v<T> || sizeof(Running<T>) > sizeof(Compute<T>);

// Four at a time, so that each waits for one step and not for all before it. Returns how many were done.
template <class T, bool products>
TL_INLINE int64_t scan_groups(const AlongShape& s, char* out, const char* in, Running<T>& running) {
  using R = Running<T>;
  const auto get = [&](int64_t i) { return convert<R>(load_one<T>(in + i * s.along[1])); };
  const auto put = [&](int64_t i, R x) { store_one<T>(out + i * s.along[0], convert<Compute<T>>(x)); };
  const auto with = [](R a, R b) { return combine<R, products>(a, b); };
  int64_t i = 0;
  for (; i + 4 <= s.n; i += 4) {
    const R first = get(i), third = get(i + 2), two = with(first, get(i + 1)), four = with(third, get(i + 3));
    put(i, with(running, first));
    put(i + 1, with(running, two));
    put(i + 2, with(running, with(two, third)));
    running = with(running, with(two, four));
    put(i + 3, running);
  }
  return i;
}

// A line by itself: the running value stays in a register.
template <class T, bool products>
void scan_line(const AlongShape& s, char* const* data) {
  using R = Running<T>;
  for_each_lines<2>(s, data, 1, [&](char* const* at, int64_t) {
    R running = products ? one_like(R{}) : R{};
    int64_t i = 0;
    if constexpr (is_groupable<T>) i = scan_groups<T, products>(s, at[0], at[1], running);
    for (; i < s.n; ++i) {
      running = combine<R, products>(running, convert<R>(load_one<T>(at[1] + i * s.along[1])));
      store_one<T>(at[0] + i * s.along[0], convert<Compute<T>>(running));
    }
  });
}

template <class T, bool products>
void scan_dtype(const AlongShape& s, char* const* data) {
  const bool side_by_side = s.dims > 0 && s.strides[1][0] < s.along[1];
  if (side_by_side)
    scan_lines<T, products>(s, data);
  else
    scan_line<T, products>(s, data);
}

}  // namespace

void scan(Scan op, DType dtype, const AlongShape& shape, char* out, const char* in) {
  char* const data[] = {out, const_cast<char*>(in)};
  switch (dtype) {
#define TL_CASE(E, T, name) \
  case DType::E:            \
    return op == Scan::Sum ? scan_dtype<T, false>(shape, data) : scan_dtype<T, true>(shape, data);
    TL_ALL_DTYPES(TL_CASE)
#undef TL_CASE
  }
}

}  // namespace tl::cpu

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

// A dense line by itself: the running value stays in a register.
template <class T, bool products>
void scan_line(const AlongShape& s, char* const* data) {
  using R = Running<T>;
  for_each_lines<2>(s, data, 1, [&](char* const* at, int64_t) {
    R running = products ? one_like(R{}) : R{};
    for (int64_t i = 0; i < s.n; ++i) {
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

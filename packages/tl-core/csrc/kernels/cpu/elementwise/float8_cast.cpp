// Float8 conversions, by way of float: one plain loop for each type that computes, once, without vectors.
#include "kernels/cpu/elementwise/float8_cast.h"

#include <iterator>

#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu {

namespace {

using namespace base;

template <class To, class From>
void cast(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void*) {
  for (int64_t j = 0; j < n1; ++j) {
    char* to = data[0] + j * strides[2];
    const char* from = data[1] + j * strides[3];
    for (int64_t i = 0; i < n0; ++i, to += strides[0], from += strides[1]) {
      const auto x = convert<float>(load_one<From>(from));
      store_one<To>(to, convert<OpMath<To>>(x));
    }
  }
}

constexpr int kFirst = static_cast<int>(stored::Float8_e4m3fn);
constexpr int kNumFloat8 = 5;

// From each float8 to each type that computes, and back; between float8 types.
#define TL_FROM(E, T) &cast<To, T>,
#define TL_TO(E, T) &cast<T, From>,
template <class To>
constexpr ElementwiseLoop kFrom[] = {TL_FLOAT8_DTYPES(TL_FROM)};
template <class From>
constexpr ElementwiseLoop kTo[] = {TL_FLOAT8_DTYPES(TL_TO)};
#undef TL_FROM
#undef TL_TO

#define TL_ROW(E, T, name) kFrom<T>,
constexpr const ElementwiseLoop* kFromFloat8[kNumDTypes] = {TL_ALL_DTYPES(TL_ROW)};
#undef TL_ROW
#define TL_ROW(E, T, name) kTo<T>,
constexpr const ElementwiseLoop* kToFloat8[kNumDTypes] = {TL_ALL_DTYPES(TL_ROW)};
#undef TL_ROW
#define TL_ROW(E, T) kFrom<T>,
constexpr const ElementwiseLoop* kBetween[kNumFloat8] = {TL_FLOAT8_DTYPES(TL_ROW)};
#undef TL_ROW

}  // namespace

ElementwiseLoop float8_cast_loop(DType to, DType from) {
  const int row = static_cast<int>(to), column = static_cast<int>(from);
  if (is_float8(to) && is_float8(from)) return kBetween[row - kFirst][column - kFirst];
  if (is_float8(to) && !is_stored_only(from)) return kToFloat8[column][row - kFirst];
  if (is_float8(from) && !is_stored_only(to)) return kFromFloat8[row][column - kFirst];
  return nullptr;
}

}  // namespace tl::cpu

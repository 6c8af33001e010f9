#include "kernels/cpu/sort.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/cpu/along_driver.h"
#include "kernels/cpu/memory.h"

namespace tl::cpu {

namespace {

using namespace base;

template <class T>
struct Item {
  T value;
  int64_t index;
};

// A strict order with NaN above all numbers, then by place: so any sort is a stable one.
template <class T, bool descending>
bool before(const Item<T>& a, const Item<T>& b) {
  const T x = descending ? b.value : a.value, y = descending ? a.value : b.value;
  if (x < y) return true;
  if (y < x) return false;
  if constexpr (std::is_floating_point_v<T>) {
    if ((x != x) != (y != y)) return y != y;
  }
  return a.index < b.index;
}

template <class T, bool descending>
void sort_lines(const AlongShape& s, int64_t count, char* const* data) {
  using C = Compute<T>;
  for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) {
    std::vector<Item<C>> line(static_cast<size_t>(s.n));
    for (int64_t i = 0; i < s.n; ++i) line[i] = {load_one<T>(at[2] + i * s.along[2]), i};
    if (count < s.n)
      std::partial_sort(line.begin(), line.begin() + count, line.end(), before<C, descending>);
    else
      std::sort(line.begin(), line.end(), before<C, descending>);
    for (int64_t i = 0; i < count; ++i) {
      store_one<T>(at[0] + i * s.along[0], line[i].value);
      *reinterpret_cast<int64_t*>(at[1] + i * s.along[1]) = line[i].index;
    }
  });
}

}  // namespace

void sort(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* values, char* indices,
          const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  switch (dtype) {
#define TL_CASE(E, T) \
  case DType::E:      \
    return descending ? sort_lines<T, true>(shape, count, data) : sort_lines<T, false>(shape, count, data);
    TL_CASE(Bool, bool)
    TL_CASE(UInt8, uint8_t)
    TL_CASE(Int8, int8_t)
    TL_CASE(Int16, int16_t)
    TL_CASE(Int32, int32_t)
    TL_CASE(Int64, int64_t)
    TL_CASE(UInt16, uint16_t)
    TL_CASE(UInt32, uint32_t)
    TL_CASE(UInt64, uint64_t)
    TL_CASE(Float16, Half)
    TL_CASE(BFloat16, BFloat16)
    TL_CASE(Float32, float)
    TL_CASE(Float64, double)
#undef TL_CASE
    default:
      fail(ErrorKind::NotImplemented, "\"sort\" not implemented for complex numbers");
  }
}

}  // namespace tl::cpu

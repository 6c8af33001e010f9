#include "kernels/cpu/unique.h"

#include <numeric>

#include "kernels/cpu/radix.h"
#include "kernels/cpu/sort_dtypes.h"

namespace tl::cpu {

namespace {

using namespace base;

// The rows' numbers in the order of their keys.
template <class K>
void order_rows(const K* keys, int64_t n, int64_t width, int64_t* order) {
  if (width == 1) {
    LineOrder<K> line(n);
    const Entry* sorted = line.sort(keys, n);
    for (int64_t i = 0; i < n; ++i) order[i] = number_of(sorted[i]);
    return;
  }
  std::iota(order, order + n, int64_t{0});
  std::sort(order, order + n, [&](int64_t a, int64_t b) {
    const auto [x, y] = std::mismatch(keys + a * width, keys + (a + 1) * width, keys + b * width);
    return x != keys + (a + 1) * width ? *x < *y : a < b;
  });
}

template <class K>
bool equal_rows(const K* a, const K* b, int64_t width, bool nans) {
  for (int64_t i = 0; i < width; ++i) {
    if (a[i] != b[i] || (nans && a[i] == ~K{})) return false;
  }
  return true;
}

template <class K>
int64_t group_keys(const K* keys, int64_t n, int64_t width, bool nans, bool sorted, int64_t* groups,
                   int64_t* first, int64_t* counts) {
  Scratch<int64_t> order(sorted ? n : 0);
  if (sorted) order_rows(keys, n, width, order.data());
  int64_t found = 0, last = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = sorted ? order[i] : i;
    if (i == 0 || !equal_rows(keys + last * width, keys + row * width, width, nans)) {
      first[found] = row;
      counts[found++] = 0;
    }
    ++counts[found - 1];
    groups[row] = found - 1;
    last = row;
  }
  return found;
}

}  // namespace

int64_t group_equal(DType dtype, const char* in, int64_t n, int64_t width, bool sorted, int64_t* groups,
                    int64_t* first, int64_t* counts) {
  int64_t found = 0;
  with_sortable(dtype, [&]<class T>(T*) {
    Scratch<Key<T>> keys(n * width);
    read_keys<T>(in, sizeof(T), n * width, 0, keys.data());
    found = group_keys(keys.data(), n, width, has_nan<T>, sorted, groups, first, counts);
  });
  return found;
}

}  // namespace tl::cpu

#include "kernels/cpu/unique.h"

#include <numeric>

#include "kernels/cpu/radix.h"
#include "kernels/cpu/sort_dtypes.h"

namespace tl::cpu {

namespace {

using namespace base;

// Numbers the groups of rows: row(i) is the i-th row, fits(i) says that it belongs to the group before.
template <class Row, class Fits>
int64_t number_groups(int64_t n, Row row, Fits fits, int64_t* groups, int64_t* first, int64_t* counts) {
  int64_t found = 0, begin = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || !fits(i)) {
      if (i > 0) counts[found - 1] = i - begin;
      first[found++] = row(i);
      begin = i;
    }
    if (groups) groups[row(i)] = found - 1;
  }
  if (n > 0) counts[found - 1] = n - begin;
  return found;
}

// Of single keys; a sorted entry tells its key without a look at where it stood.
template <class K>
int64_t group_sorted(const K* keys, int64_t n, bool nans, int64_t* groups, int64_t* first, int64_t* counts) {
  LineOrder<K> line(n);
  const Entry* sorted = line.sort(keys, n);
  K last = n > 0 ? line.key(keys, sorted[0]) : K{};
  const auto fits = [&](int64_t i) {
    const K key = line.key(keys, sorted[i]);
    const bool same = key == last && !(nans && key == ~K{});
    last = key;
    return same;
  };
  return number_groups(n, [&](int64_t i) { return number_of(sorted[i]); }, fits, groups, first, counts);
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
  if (sorted && width == 1) return group_sorted(keys, n, nans, groups, first, counts);
  Scratch<int64_t> order(n);
  std::iota(order.data(), order.data() + n, int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    const auto [x, y] = std::mismatch(keys + a * width, keys + (a + 1) * width, keys + b * width);
    return x != keys + (a + 1) * width ? *x < *y : a < b;
  };
  if (sorted) std::sort(order.data(), order.data() + n, before);
  const auto fits = [&](int64_t i) {
    return equal_rows(keys + order[i - 1] * width, keys + order[i] * width, width, nans);
  };
  return number_groups(n, [&](int64_t i) { return order[i]; }, fits, groups, first, counts);
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

// Unique elements and rows: groups of equal ones in the order of their radix keys.
#include "kernels/cpu/sort/unique.h"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/sort/load_keys.h"
#include "kernels/cpu/sort/radix_keys.h"
#include "kernels/cpu/sort/radix_sort.h"
#include "kernels/cpu/sort/sortable_dtypes.h"

namespace tl::cpu {

namespace {

using namespace base;

// Takes down what is asked of groups that are found one after another.
template <class T>
class Recorder {
 public:
  Recorder(const char* in, const Groups& groups) : in_(in), groups_(groups) {}

  // A group whose first row is `row`, from place `begin` on; the key is that of single elements.
  void begin(int64_t row, Key<T> key, int64_t begin) {
    end(begin);
    if (groups_.first) groups_.first[found_] = row;
    if (groups_.values) {
      const int64_t size = sizeof(T);
      write_element<T>(groups_.values + found_ * size, key, in_ + row * size);
    }
    begin_ = begin;
    ++found_;
  }
  void add(int64_t row) {
    if (groups_.of_rows) groups_.of_rows[row] = found_ - 1;
  }
  // The last group ends before place `end`.
  int64_t end(int64_t end) {
    if (groups_.counts && found_ > 0) groups_.counts[found_ - 1] = end - begin_;
    return found_;
  }

 private:
  const char* in_;
  Groups groups_;
  int64_t found_ = 0, begin_ = 0;
};

// Single keys that lie close together: counted without sorting.
template <class T>
int64_t group_counted(const Key<T>* keys, int64_t n, Key<T> low, int64_t buckets, const char* in,
                      const Groups& groups) {
  Scratch<int64_t> first(buckets), count(buckets);
  std::fill_n(count.data(), buckets, 0);
  for (int64_t i = n - 1; i >= 0; --i) {
    first[keys[i] - low] = i;
    ++count[keys[i] - low];
  }
  Recorder<T> recorder(in, groups);
  int64_t position = 0, found = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    if (count[b] == 0) continue;
    recorder.begin(first[b], low + static_cast<Key<T>>(b), position);
    position += count[b];
    count[b] = found++;  // from here on the group
  }
  if (groups.of_rows) {
    for (int64_t i = 0; i < n; ++i) groups.of_rows[i] = count[keys[i] - low];
  }
  return recorder.end(position);
}

// Of single keys; a sorted entry tells its key without a look at where it stood.
template <class T>
int64_t group_sorted(const Key<T>* keys, int64_t n, const char* in, const Groups& groups) {
  using K = Key<T>;
  Scratch<IndexedKey<K>> sorted(n);
  sort_keys(keys, n, sorted.data());
  Recorder<T> recorder(in, groups);
  K last{};
  for (int64_t i = 0; i < n; ++i) {
    const auto [key, row] = sorted[i];
    if (i == 0 || key != last || (has_nan<T> && key == ~K{})) recorder.begin(row, key, i);
    recorder.add(row);
    last = key;
  }
  return recorder.end(n);
}

template <class T>
int64_t group_elements(const Key<T>* keys, int64_t n, const char* in, const Groups& groups) {
  constexpr int64_t kMostBuckets = 1 << 16;
  const auto [low, high] = range_of(keys, n);
  const bool has_nans = has_nan<T> && high == ~Key<T>{};
  if (!has_nans && high - low < static_cast<Key<T>>(std::min(n, kMostBuckets)))
    return group_counted<T>(keys, n, low, static_cast<int64_t>(high - low) + 1, in, groups);
  return group_sorted<T>(keys, n, in, groups);
}

// Of single keys, where equal ones stand beside each other.
template <class T>
int64_t group_neighbours(const Key<T>* keys, int64_t n, const char* in, const Groups& groups) {
  Recorder<T> recorder(in, groups);
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || keys[i] != keys[i - 1] || (has_nan<T> && keys[i] == ~Key<T>{}))
      recorder.begin(i, keys[i], i);
    recorder.add(i);
  }
  return recorder.end(n);
}

// Only their elements: each is written, and stays if it begins a group.
template <class T>
int64_t write_neighbours(const Key<T>* keys, int64_t n, const char* in, char* values) {
  constexpr int64_t kSize = sizeof(T);
  Key<T> last = ~keys[0];
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i, in += kSize) {
    const Key<T> key = keys[i];
    write<T>(values + found * kSize, read<T>(in));
    found += static_cast<int>(key != last) | static_cast<int>(has_nan<T> && key == ~Key<T>{});
    last = key;
  }
  return found;
}

template <class K>
bool equal_rows(const K* a, const K* b, int64_t width, bool nans) {
  for (int64_t i = 0; i < width; ++i) {
    if (a[i] != b[i] || (nans && a[i] == ~K{})) return false;
  }
  return true;
}

template <class T>
int64_t group_rows(const Key<T>* keys, int64_t n, int64_t width, bool sorted, const char* in,
                   const Groups& groups) {
  Scratch<int64_t> order(n);
  std::iota(order.data(), order.data() + n, int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    const auto [x, y] = std::mismatch(keys + a * width, keys + (a + 1) * width, keys + b * width);
    return x != keys + (a + 1) * width ? *x < *y : a < b;
  };
  if (sorted) std::sort(order.data(), order.data() + n, before);
  Recorder<T> recorder(in, groups);
  for (int64_t i = 0; i < n; ++i) {
    const Key<T>* row = keys + order[i] * width;
    if (i == 0 || !equal_rows(keys + order[i - 1] * width, row, width, has_nan<T>))
      recorder.begin(order[i], width ? *row : Key<T>{}, i);
    recorder.add(order[i]);
  }
  return recorder.end(n);
}

}  // namespace

int64_t group_equal(DType dtype, const char* in, int64_t n, int64_t width, bool sorted,
                    const Groups& groups) {
  int64_t found = 0;
  with_sortable(dtype, [&]<class T>(T*) {
    Scratch<Key<T>> keys(n * width);
    key_reader(dtype)(in, sizeof(T), n * width, false, keys.data());
    found = width != 1 ? group_rows<T>(keys.data(), n, width, sorted, in, groups)
            : sorted   ? group_elements<T>(keys.data(), n, in, groups)
            : groups.of_rows || groups.first || groups.counts
                ? group_neighbours<T>(keys.data(), n, in, groups)
                : write_neighbours<T>(keys.data(), n, in, groups.values);
  });
  return found;
}

}  // namespace tl::cpu

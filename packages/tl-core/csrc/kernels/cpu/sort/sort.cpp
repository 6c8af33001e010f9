// Sorting along a dimension, the largest elements, ranks and modes: which algorithm takes which length.
#include "kernels/cpu/sort/sort.h"

#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/sort/load_keys.h"
#include "kernels/cpu/sort/quickselect.h"
#include "kernels/cpu/sort/radix_keys.h"
#include "kernels/cpu/sort/radix_sort.h"
#include "kernels/cpu/sort/sortable_dtypes.h"
#include "kernels/cpu/sort/topk.h"

namespace tl::cpu {

namespace {

using namespace base;

// f(where the operands' line begins, its keys)
template <class K, class F>
void each_line(DType dtype, const AlongShape& s, char* const* data, bool descending, F f) {
  const KeyReader read = key_reader(dtype);
  for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) {
    Scratch<K> keys(s.n);
    read(at[2], s.along[2], s.n, descending, keys.data());
    f(at, keys.data());
  });
}

template <class T>
void sort_lines(const AlongShape& s, char* const* data, int64_t count, bool descending) {
  const Key<T> flip = descending ? ~Key<T>{} : Key<T>{};
  each_line<Key<T>>(dtype_of<T>, s, data, descending, [&](char* const* at, const Key<T>* keys) {
    const RowOutput<T> out(at, s);
    for_each_sorted_run(keys, s.n, [&](int64_t position, const IndexedKey<Key<T>>* items, int64_t n) {
      out.put(position, items, std::min(n, count - position), flip);
    });
  });
}

// find(a line's keys): the number of one of them, which is all that is put out.
template <class K, class F>
void pick_in_lines(DType dtype, const AlongShape& s, char* const* data, F find) {
  const size_t size = static_cast<size_t>(item_size(dtype));
  each_line<K>(dtype, s, data, false, [&](char* const* at, const K* keys) {
    const int64_t index = find(keys);
    __builtin_memcpy(at[0], at[2] + index * s.along[2], size);
    write<int64_t>(at[1], index);
  });
}

// f(a null pointer to the type of the keys)
template <class F>
void with_keys(DType dtype, F f) {
  if (item_size(dtype) == sizeof(uint64_t))
    f(static_cast<uint64_t*>(nullptr));
  else
    f(static_cast<uint32_t*>(nullptr));
}

// Which place of the order is wanted; the last one is a NaN's where there are any.
template <class K>
int64_t rank_in_line(const K* keys, int64_t n, bool may_be_nan, Rank rank, int64_t nth) {
  if (rank == Rank::Nth) return nth;
  const int64_t nans = may_be_nan ? std::count(keys, keys + n, ~K{}) : 0;
  if (rank == Rank::Median && nans) return n - 1;
  return nans == n ? n - 1 : (n - nans - 1) / 2;
}

template <class K>
int64_t find_mode(const K* keys, int64_t n) {
  Scratch<IndexedKey<K>> sorted(n);
  sort_keys(keys, n, sorted.data());
  int64_t most = 0, last = 0;
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    while (end < n && sorted[end].key == sorted[i].key) ++end;
    if (end - i > most) most = end - i, last = end - 1;
    i = end;
  }
  return sorted[last].index;
}

}  // namespace

void sort(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* values, char* indices,
          const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  if (8 * count <= shape.n) return topk(dtype, shape, count, descending, data);
  with_sortable(dtype, [&]<class T>(T*) { sort_lines<T>(shape, data, count, descending); });
}

void select_rank(DType dtype, const AlongShape& shape, Rank rank, int64_t n, char* values, char* indices,
                 const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  with_keys(dtype, [&]<class K>(K*) {
    pick_in_lines<K>(dtype, shape, data, [&](const K* keys) {
      const int64_t position = rank_in_line(keys, shape.n, is_floating(dtype), rank, n);
      return find_key(keys, shape.n, quickselect(keys, shape.n, position));
    });
  });
}

void mode(DType dtype, const AlongShape& shape, char* values, char* indices, const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  with_keys(dtype, [&]<class K>(K*) {
    pick_in_lines<K>(dtype, shape, data, [&](const K* keys) { return find_mode(keys, shape.n); });
  });
}

}  // namespace tl::cpu

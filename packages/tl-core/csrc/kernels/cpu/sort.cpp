#include "kernels/cpu/sort.h"

#include "kernels/cpu/along_driver.h"
#include "kernels/cpu/radix.h"
#include "kernels/cpu/ranks.h"
#include "kernels/cpu/sort_dtypes.h"
#include "kernels/cpu/top.h"

namespace tl::cpu {

namespace {

using namespace base;

// f(where the operands' line begins, its keys)
template <class T, class F>
void each_line(const AlongShape& s, char* const* data, Key<T> flip, F f) {
  for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) {
    Scratch<Key<T>> keys(s.n);
    read_keys<T>(at[2], s.along[2], s.n, flip, keys.data());
    f(at, keys.data());
  });
}

template <class T>
void sort_lines(const AlongShape& s, char* const* data, int64_t count, Key<T> flip) {
  each_line<T>(s, data, flip, [&](char* const* at, const Key<T>* keys) {
    LineOrder<Key<T>> order(s.n);
    const Entry* sorted = order.sort(keys, s.n);
    const Coding<Key<T>> coding = order.coding();
    const LineOutput<T> out(at, s);
    for (int64_t i = 0; i < count; ++i) out.put(i, coding.key(keys, sorted[i]) ^ flip, number_of(sorted[i]));
  });
}

// The numbers that count, and which of them is wanted; -1: the first NaN.
template <class T>
int64_t rank_in_line(const Key<T>* keys, int64_t n, Rank rank, int64_t nth) {
  if (rank == Rank::Nth) return nth;
  int64_t nans = 0;
  if constexpr (has_nan<T>) {
    for (int64_t i = 0; i < n; ++i) nans += keys[i] == ~Key<T>{};
  }
  if (rank == Rank::Median && nans) return n - 1;
  return nans == n ? n - 1 : (n - nans - 1) / 2;
}

template <class T>
void rank_lines(const AlongShape& s, char* const* data, Rank rank, int64_t nth) {
  each_line<T>(s, data, 0, [&](char* const* at, const Key<T>* keys) {
    const Key<T> key = key_of_rank(keys, s.n, rank_in_line<T>(keys, s.n, rank, nth));
    LineOutput<T>(at, s).put(0, key, find_key(keys, s.n, key));
  });
}

template <class T>
void mode_lines(const AlongShape& s, char* const* data) {
  each_line<T>(s, data, 0, [&](char* const* at, const Key<T>* keys) {
    LineOrder<Key<T>> order(s.n);
    const Entry* sorted = order.sort(keys, s.n);
    int64_t most = 0, last = 0;
    for (int64_t i = 0; i < s.n;) {
      const Key<T> key = order.coding().key(keys, sorted[i]);
      int64_t end = i + 1;
      while (end < s.n && order.coding().key(keys, sorted[end]) == key) ++end;
      if (end - i > most) most = end - i, last = end - 1;
      i = end;
    }
    LineOutput<T>(at, s).put(0, order.coding().key(keys, sorted[last]), number_of(sorted[last]));
  });
}

}  // namespace

void sort(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* values, char* indices,
          const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  if (8 * count <= shape.n) return top(dtype, shape, count, descending, data);
  with_sortable(dtype, [&]<class T>(T*) {
    const Key<T> flip = descending ? ~Key<T>{} : Key<T>{};
    sort_lines<T>(shape, data, count, flip);
  });
}

void select_rank(DType dtype, const AlongShape& shape, Rank rank, int64_t n, char* values, char* indices,
                 const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  with_sortable(dtype, [&]<class T>(T*) { rank_lines<T>(shape, data, rank, n); });
}

void mode(DType dtype, const AlongShape& shape, char* values, char* indices, const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  with_sortable(dtype, [&]<class T>(T*) { mode_lines<T>(shape, data); });
}

}  // namespace tl::cpu

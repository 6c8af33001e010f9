#include "kernels/cpu/sort.h"

#include "kernels/cpu/along_driver.h"
#include "kernels/cpu/key_lines.h"
#include "kernels/cpu/keys.h"
#include "kernels/cpu/radix.h"
#include "kernels/cpu/ranks.h"
#include "kernels/cpu/sort_dtypes.h"
#include "kernels/cpu/top.h"

namespace tl::cpu {

namespace {

using namespace base;

// f(where the operands' line begins, its keys)
template <class T, class F>
void each_line(const AlongShape& s, char* const* data, bool flip, F f) {
  const KeyReader read = key_reader(dtype_of<T>);
  for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) {
    Scratch<Key<T>> keys(s.n);
    read(at[2], s.along[2], s.n, flip, keys.data());
    f(at, keys.data());
  });
}

template <class T>
void sort_lines(const AlongShape& s, char* const* data, int64_t count, bool descending) {
  const Key<T> flip = descending ? ~Key<T>{} : Key<T>{};
  each_line<T>(s, data, descending, [&](char* const* at, const Key<T>* keys) {
    const LineOutput<T> out(at, s);
    in_order(keys, s.n, [&](int64_t place, const Numbered<Key<T>>* items, int64_t n) {
      out.put(place, items, std::min(n, count - place), flip);
    });
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
  each_line<T>(s, data, false, [&](char* const* at, const Key<T>* keys) {
    const Key<T> key = key_of_rank(keys, s.n, rank_in_line<T>(keys, s.n, rank, nth));
    LineOutput<T>(at, s).put(0, key, find_key(keys, s.n, key));
  });
}

template <class T>
void mode_lines(const AlongShape& s, char* const* data) {
  each_line<T>(s, data, false, [&](char* const* at, const Key<T>* keys) {
    Scratch<Numbered<Key<T>>> sorted(s.n);
    sort_keys(keys, s.n, sorted.data());
    int64_t most = 0, last = 0;
    for (int64_t i = 0; i < s.n;) {
      int64_t end = i + 1;
      while (end < s.n && sorted[end].key == sorted[i].key) ++end;
      if (end - i > most) most = end - i, last = end - 1;
      i = end;
    }
    LineOutput<T>(at, s).put(0, sorted[last].key, sorted[last].number);
  });
}

}  // namespace

void sort(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* values, char* indices,
          const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  if (8 * count <= shape.n) return top(dtype, shape, count, descending, data);
  with_sortable(dtype, [&]<class T>(T*) { sort_lines<T>(shape, data, count, descending); });
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

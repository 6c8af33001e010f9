// Stable radix sort of a row by its radix keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace tl::cpu {

// An element's key and its number in its line. No two are equal, so every way of sorting gives the same,
// stable, order.
template <class K>
struct IndexedKey {
  K key;
  uint32_t index;
};

// Takes a part of the order: n items that stand from a place on.
template <class K>
struct SortedRunSink {
  void (*take)(void* context, int64_t position, const IndexedKey<K>* items, int64_t n);
  void* context;

  void operator()(int64_t position, const IndexedKey<K>* items, int64_t n) const {
    take(context, position, items, n);
  }
};

void sort_keys(const uint32_t* keys, int64_t n, SortedRunSink<uint32_t> sink);
void sort_keys(const uint64_t* keys, int64_t n, SortedRunSink<uint64_t> sink);

// take(place, items, n) for parts that make up the whole order, one after another or at once.
template <class K, class F>
void for_each_sorted_run(const K* keys, int64_t n, F&& take) {
  using Take = std::remove_reference_t<F>;
  sort_keys(keys, n,
            SortedRunSink<K>{[](void* context, int64_t position, const IndexedKey<K>* items, int64_t count) {
                               (*static_cast<Take*>(context))(position, items, count);
                             },
                             &take});
}

// The whole order at once.
template <class K>
void sort_keys(const K* keys, int64_t n, IndexedKey<K>* sorted) {
  for_each_sorted_run(keys, n, [&](int64_t position, const IndexedKey<K>* items, int64_t count) {
    std::copy_n(items, count, sorted + position);
  });
}

}  // namespace tl::cpu

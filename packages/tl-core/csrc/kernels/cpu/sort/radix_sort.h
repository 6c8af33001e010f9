// Sorting a line by its keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace tl::cpu {

// An element's key and its number in its line. No two are equal, so every way of sorting gives the same,
// stable, order.
template <class K>
struct Numbered {
  K key;
  uint32_t number;
};

// Takes a part of the order: n items that stand from a place on.
template <class K>
struct Taker {
  void (*take)(void* context, int64_t place, const Numbered<K>* items, int64_t n);
  void* context;

  void operator()(int64_t place, const Numbered<K>* items, int64_t n) const {
    take(context, place, items, n);
  }
};

void sort_keys(const uint32_t* keys, int64_t n, Taker<uint32_t> taker);
void sort_keys(const uint64_t* keys, int64_t n, Taker<uint64_t> taker);

// take(place, items, n) for parts that make up the whole order, one after another or at once.
template <class K, class F>
void in_order(const K* keys, int64_t n, F&& take) {
  using Take = std::remove_reference_t<F>;
  sort_keys(keys, n,
            Taker<K>{[](void* context, int64_t place, const Numbered<K>* items, int64_t count) {
                       (*static_cast<Take*>(context))(place, items, count);
                     },
                     &take});
}

// The whole order at once.
template <class K>
void sort_keys(const K* keys, int64_t n, Numbered<K>* sorted) {
  in_order(keys, n, [&](int64_t place, const Numbered<K>* items, int64_t count) {
    std::copy_n(items, count, sorted + place);
  });
}

}  // namespace tl::cpu

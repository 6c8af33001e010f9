#include "kernels/cpu/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "kernels/cpu/along_driver.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/scratch.h"

namespace tl::cpu {

namespace {

using namespace base;

// ---- keys: unsigned integers in the order of the elements
// ---------------------------------------------------------------

template <int bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;
template <class T>
using Key = UnsignedOf<sizeof(T)>;

// The sign bit of floating numbers is turned around, negative ones as a whole; both zeros and all NaN are one
// key each.
template <class K>
TL_INLINE K float_key(K bits, K infinity) {
  constexpr K sign = static_cast<K>(K{1} << (8 * sizeof(K) - 1));
  const K size = bits & static_cast<K>(~sign);
  if (size > infinity) return static_cast<K>(~K{0});
  if (size == 0) return sign;
  return bits & sign ? static_cast<K>(~bits) : static_cast<K>(bits | sign);
}

template <class T>
TL_INLINE Key<T> key_of(const char* p) {
  using K = Key<T>;
  if constexpr (std::is_same_v<T, bool>)
    return load_one<bool>(p);
  else if constexpr (std::is_same_v<T, Half>)
    return float_key<K>(read<K>(p), 0x7c00);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return float_key<K>(read<K>(p), 0x7f80);
  else if constexpr (std::is_same_v<T, float>)
    return float_key<K>(read<K>(p), 0x7f800000u);
  else if constexpr (std::is_same_v<T, double>)
    return float_key<K>(read<K>(p), 0x7ff0000000000000ull);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<K>(read<K>(p) ^ static_cast<K>(K{1} << (8 * sizeof(K) - 1)));
  else
    return read<K>(p);
}

template <class K>
struct Entry {
  K key;
  std::conditional_t<sizeof(K) == 8, int64_t, uint32_t> index;

  bool operator<(const Entry& other) const {
    return key < other.key || (key == other.key && index < other.index);
  }
};

// Reverse order is order by the complement; equal elements stay in theirs.
template <class T>
void read_entries(Entry<Key<T>>* out, const char* in, int64_t stride, int64_t n, bool reverse) {
  const Key<T> flip = reverse ? static_cast<Key<T>>(~Key<T>{0}) : Key<T>{0};
  for (int64_t i = 0; i < n; ++i) {
    out[i].key = static_cast<Key<T>>(key_of<T>(in + i * stride) ^ flip);
    out[i].index = static_cast<decltype(out[i].index)>(i);
  }
}

template <class T>
void write_entries(const Entry<Key<T>>* entries, int64_t n, const AlongShape& s, char* const* at) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = static_cast<int64_t>(entries[i].index);
    write(at[0] + i * s.along[0], read<Key<T>>(at[2] + index * s.along[2]));
    write(at[1] + i * s.along[1], index);
  }
}

// ---- radix sort, the lowest byte first
// ------------------------------------------------------------------------------------

// Sorts by the keys' bytes in turn, between two arrays; returns the one that holds the result. Keys are
// counted from the lowest one, so that numbers close to each other differ in few bytes.
template <class K>
Entry<K>* radix_sort(Entry<K>* entries, Entry<K>* other, int64_t n) {
  constexpr int kBytes = sizeof(K);
  K lowest = entries[0].key;
  for (int64_t i = 1; i < n; ++i) lowest = std::min(lowest, entries[i].key);
  for (int64_t i = 0; i < n; ++i) entries[i].key = static_cast<K>(entries[i].key - lowest);
  std::array<std::array<int64_t, 256>, kBytes> counts{};
  for (int64_t i = 0; i < n; ++i) {
    for (int b = 0; b < kBytes; ++b) ++counts[b][static_cast<uint8_t>(entries[i].key >> (8 * b))];
  }
  for (int b = 0; b < kBytes; ++b) {
    auto& places = counts[b];
    if (places[static_cast<uint8_t>(entries[0].key >> (8 * b))] == n) continue;  // all alike
    int64_t sum = 0;
    for (int64_t& place : places) sum += std::exchange(place, sum);
    for (int64_t i = 0; i < n; ++i)
      other[places[static_cast<uint8_t>(entries[i].key >> (8 * b))]++] = entries[i];
    std::swap(entries, other);
  }
  return entries;
}

template <class K>
Entry<K>* sort_entries(Entry<K>* entries, Entry<K>* other, int64_t n) {
  if (n >= 512) return radix_sort(entries, other, n);
  std::sort(entries, entries + n);  // entries are all different: stable
  return entries;
}

template <class T>
void sort_dtype(bool descending, const AlongShape& s, char* const* data) {
  using E = Entry<Key<T>>;
  for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) {
    Scratch<E> entries(s.n), other(s.n >= 512 ? s.n : 0);
    read_entries<T>(entries.data(), at[2], s.along[2], s.n, descending);
    write_entries<T>(sort_entries(entries.data(), other.data(), s.n), s.n, s, at);
  });
}

// ---- the first k
// ----------------------------------------------------------------------------------------------------------

// Candidates are gathered beneath a limit that falls each time there are too many of them.
template <class T>
void topk_line(int64_t k, bool largest, const AlongShape& s, char* const* at) {
  using E = Entry<Key<T>>;
  const int64_t room = k < 64 ? 256 : 4 * k;
  Scratch<E> found(room);
  const Key<T> flip = largest ? static_cast<Key<T>>(~Key<T>{0}) : Key<T>{0};
  Key<T> limit = static_cast<Key<T>>(~Key<T>{0});
  int64_t count = 0;
  for (int64_t i = 0; i < s.n; ++i) {
    const Key<T> key = static_cast<Key<T>>(key_of<T>(at[2] + i * s.along[2]) ^ flip);
    if (key > limit || (key == limit && count >= k && limit != static_cast<Key<T>>(~Key<T>{0}))) continue;
    found[count++] = {key, static_cast<decltype(E::index)>(i)};
    if (count < room) continue;
    std::nth_element(found.data(), found.data() + k - 1, found.data() + count);
    count = k;
    limit = found[k - 1].key;
  }
  std::sort(found.data(), found.data() + count);
  write_entries<T>(found.data(), k, s, at);
}

template <class T>
void topk_dtype(int64_t k, bool largest, const AlongShape& s, char* const* data) {
  for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) { topk_line<T>(k, largest, s, at); });
}

}  // namespace

#define TL_SORTABLE(dtype)                                                                              \
  switch (dtype) {                                                                                      \
    TL_CASE(Bool, bool)                                                                                 \
    TL_CASE(UInt8, uint8_t)                                                                             \
    TL_CASE(Int8, int8_t)                                                                               \
    TL_CASE(Int16, int16_t)                                                                             \
  TL_CASE(Int32, int32_t)                                                                               \
  TL_CASE(Int64, int64_t) TL_CASE(UInt16, uint16_t) TL_CASE(UInt32, uint32_t) TL_CASE(UInt64, uint64_t) \
      TL_CASE(Float16, Half) TL_CASE(BFloat16, BFloat16) TL_CASE(Float32, float)                        \
          TL_CASE(Float64, double) case DType::Complex32:                                               \
  case DType::Complex64:                                                                                \
  case DType::Complex128:                                                                               \
    break;                                                                                              \
  }

void sort(DType dtype, bool descending, const AlongShape& shape, char* values, char* indices,
          const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  if (shape.n == 0) return;
#define TL_CASE(E, T) \
  case DType::E:      \
    return sort_dtype<T>(descending, shape, data);
  TL_SORTABLE(dtype)
#undef TL_CASE
}

void topk(DType dtype, int64_t k, bool largest, const AlongShape& shape, char* values, char* indices,
          const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  if (k == 0) return;
#define TL_CASE(E, T) \
  case DType::E:      \
    return topk_dtype<T>(k, largest, shape, data);
  TL_SORTABLE(dtype)
#undef TL_CASE
}

}  // namespace tl::cpu

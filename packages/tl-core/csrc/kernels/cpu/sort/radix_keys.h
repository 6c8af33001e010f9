// Elements as unsigned numbers in the same order, so that sorting knows two types only. Zeros of both signs
// have one key, all NaNs the largest one.
#pragma once

#include "kernels/cpu/loops/along_dim.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
using Key = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
inline constexpr bool has_nan = std::is_floating_point_v<OpMath<T>>;

// As wide as the compute type.
template <class A>
using BitsLike = std::conditional_t<sizeof(A) == 8, uint64_t, uint32_t>;

template <class T>
TL_INLINE Key<T> key_of(OpMath<T> x) {
  using K = Key<T>;
  constexpr K sign = K{1} << (8 * sizeof(K) - 1);
  if constexpr (has_nan<T>) {
    const K bits = bitcast<K>(x + OpMath<T>{});  // -0 becomes 0
    const K key = bits & sign ? ~bits : bits | sign;
    return x != x ? ~K{} : key;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<K>(static_cast<std::make_signed_t<K>>(x)) ^ sign;
  } else {
    return static_cast<K>(x);
  }
}

template <class T>
TL_INLINE OpMath<T> element_of(Key<T> key) {
  using K = Key<T>;
  constexpr K sign = K{1} << (8 * sizeof(K) - 1);
  if constexpr (has_nan<T>)
    return bitcast<OpMath<T>>(key & sign ? key ^ sign : ~key);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(key ^ sign);
  else
    return static_cast<T>(key);
}

// The element that has the key. Not all bits of a zero or a NaN are in their keys: these are copied.
template <class T>
TL_INLINE void write_element(char* to, Key<T> key, const char* source) {
  if constexpr (has_nan<T>) {
    if (key == key_of<T>(0) || key == ~Key<T>{}) return write<T>(to, read<T>(source));
  }
  store_one<T>(to, element_of<T>(key));
}

// Where a line's elements and their numbers go; operands: values, indices, input. Kept by value, as what is
// written may be anything.
template <class T>
class RowOutput {
 public:
  RowOutput(char* const* at, const AlongShape& s)
      : values_(at[0]), indices_(at[1]), in_(at[2]), strides_{s.along[0], s.along[1], s.along[2]} {}

  TL_INLINE void put(int64_t position, Key<T> key, int64_t index) const {
    write_element<T>(values_ + position * strides_[0], key, in_ + index * strides_[2]);
    write<int64_t>(indices_ + position * strides_[1], index);
  }

  // n items from a place on, whose keys `flip` has turned around and which ascend.
  template <class Item>
  void put(int64_t position, const Item* items, int64_t n, Key<T> flip) const {
    if (n <= 0) return;
    const auto among = [&](Key<T> key) {
      return items[0].key <= (key ^ flip) && (key ^ flip) <= items[n - 1].key;
    };
    const bool copied = has_nan<T> && (among(key_of<T>(0)) || among(~Key<T>{}));
    const bool dense = strides_[0] == static_cast<int64_t>(sizeof(T)) && strides_[1] == 8;
    if (copied || !dense) {
      for (int64_t i = 0; i < n; ++i) put(position + i, items[i].key ^ flip, items[i].index);
      return;
    }
    char* values = values_ + position * static_cast<int64_t>(sizeof(T));
    char* indices = indices_ + position * 8;
    for (int64_t i = 0; i < n; ++i) {
      store_one<T>(values + i * static_cast<int64_t>(sizeof(T)), element_of<T>(items[i].key ^ flip));
      write<int64_t>(indices + i * 8, items[i].index);
    }
  }

 private:
  char *values_, *indices_;
  const char* in_;
  int64_t strides_[3];
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

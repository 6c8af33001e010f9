// Elements as unsigned numbers in the same order, so that sorting knows two types only. Zeros of both signs
// have one key, all NaNs the largest one.
#pragma once

#include "kernels/cpu/along.h"
#include "kernels/cpu/memory.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
using Key = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
inline constexpr bool has_nan = std::is_floating_point_v<Compute<T>>;

// As wide as the compute type.
template <class A>
using BitsLike = std::conditional_t<sizeof(A) == 8, uint64_t, uint32_t>;

template <class T>
TL_INLINE Key<T> key_of(Compute<T> x) {
  using K = Key<T>;
  constexpr K sign = K{1} << (8 * sizeof(K) - 1);
  if constexpr (has_nan<T>) {
    const K bits = bitcast<K>(x + Compute<T>{});  // -0 becomes 0
    const K key = bits & sign ? ~bits : bits | sign;
    return x != x ? ~K{} : key;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<K>(static_cast<std::make_signed_t<K>>(x)) ^ sign;
  } else {
    return static_cast<K>(x);
  }
}

template <class T>
TL_INLINE Compute<T> element_of(Key<T> key) {
  using K = Key<T>;
  constexpr K sign = K{1} << (8 * sizeof(K) - 1);
  if constexpr (has_nan<T>)
    return bitcast<Compute<T>>(key & sign ? key ^ sign : ~key);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(key ^ sign);
  else
    return static_cast<T>(key);
}

// A line's keys; `flip` turns the order around.
template <class T>
[[gnu::noinline]] void read_keys(const char* in, int64_t stride, int64_t n, Key<T> flip, Key<T>* keys) {
  if (stride == static_cast<int64_t>(sizeof(T))) {
    for (int64_t i = 0; i < n; ++i) keys[i] = key_of<T>(load_one<T>(in + i * sizeof(T))) ^ flip;
  } else {
    for (int64_t i = 0; i < n; ++i) keys[i] = key_of<T>(load_one<T>(in + i * stride)) ^ flip;
  }
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
class LineOutput {
 public:
  LineOutput(char* const* at, const AlongShape& s)
      : values_(at[0]), numbers_(at[1]), in_(at[2]), strides_{s.along[0], s.along[1], s.along[2]} {}

  TL_INLINE void put(int64_t place, Key<T> key, int64_t number) const {
    write_element<T>(values_ + place * strides_[0], key, in_ + number * strides_[2]);
    write<int64_t>(numbers_ + place * strides_[1], number);
  }

 private:
  char *values_, *numbers_;
  const char* in_;
  int64_t strides_[3];
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

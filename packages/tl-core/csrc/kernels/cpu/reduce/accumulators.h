// Reduction operators: the identity, accumulating one element, and merging two partial results, each for a
// vector or a scalar V. `shift` is a scalar known before: the mean about which deviations are added.
#pragma once

#include "kernels/cpu/elementwise/binary.h"
#include "kernels/cpu/loops/arithmetic.h"

namespace tl::cpu::TL_ISA_NAMESPACE::reducers {

struct Sum {
  template <class V>
  static TL_INLINE V identity() {
    return V{};
  }
  template <class V>
  static TL_INLINE V accumulate(V acc, V x, V) {
    return plus(acc, x);
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return plus(a, b);
  }
};

struct Prod {
  template <class V>
  static TL_INLINE V identity() {
    return one_like(V{});
  }
  template <class V>
  static TL_INLINE V accumulate(V acc, V x, V) {
    return times(acc, x);
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return times(a, b);
  }
};

struct Amax {
  template <class V>
  static TL_INLINE V identity() {
    using L = std::numeric_limits<Lane<V>>;
    return broadcast<V>(L::has_infinity ? -L::infinity() : L::lowest());
  }
  template <class V>
  static TL_INLINE V accumulate(V acc, V x, V) {
    return merge(acc, x);
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return functions::maximum::apply(a, b, static_cast<const int*>(nullptr));
  }
};

struct Amin {
  template <class V>
  static TL_INLINE V identity() {
    using L = std::numeric_limits<Lane<V>>;
    return broadcast<V>(L::has_infinity ? L::infinity() : L::max());
  }
  template <class V>
  static TL_INLINE V accumulate(V acc, V x, V) {
    return merge(acc, x);
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return functions::minimum::apply(a, b, static_cast<const int*>(nullptr));
  }
};

// Logical reductions of truth values.
struct Any {
  template <class V>
  static TL_INLINE V identity() {
    return false;
  }
  template <class V>
  static TL_INLINE V accumulate(V acc, V x, V) {
    return acc | x;
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return a | b;
  }
};
struct All {
  template <class V>
  static TL_INLINE V identity() {
    return true;
  }
  template <class V>
  static TL_INLINE V accumulate(V acc, V x, V) {
    return acc & x;
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return a & b;
  }
};

// The sum of squared deviations from `shift`, the second pass of a variance.
struct SquaredDeviations : Sum {
  template <class V>
  static TL_INLINE V accumulate(V acc, V x, V shift) {
    const V d = x - shift;
    return fma(d, d, acc);
  }
};

// The sum of deviations from `shift`: what the rounding of a mean left.
struct Deviations : Sum {
  template <class V>
  static TL_INLINE V accumulate(V acc, V x, V shift) {
    return acc + (x - shift);
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE::reducers

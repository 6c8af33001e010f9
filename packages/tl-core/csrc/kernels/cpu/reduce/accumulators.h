// What is done with each element of a reduction. V is a vector or a scalar; `merge` joins two partial
// results. `shift` is a number known before: the centre of Squares.
#pragma once

#include "kernels/cpu/elementwise/binary.h"
#include "kernels/cpu/loops/arithmetic.h"

namespace tl::cpu::TL_ISA_NAMESPACE::steps {

struct Sum {
  template <class V>
  static TL_INLINE V start() {
    return V{};
  }
  template <class V>
  static TL_INLINE V step(V acc, V x, V) {
    return plus(acc, x);
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return plus(a, b);
  }
};

struct Prod {
  template <class V>
  static TL_INLINE V start() {
    return one_like(V{});
  }
  template <class V>
  static TL_INLINE V step(V acc, V x, V) {
    return times(acc, x);
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return times(a, b);
  }
};

struct Amax {
  template <class V>
  static TL_INLINE V start() {
    using L = std::numeric_limits<Lane<V>>;
    return broadcast<V>(L::has_infinity ? -L::infinity() : L::lowest());
  }
  template <class V>
  static TL_INLINE V step(V acc, V x, V) {
    return merge(acc, x);
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return functions::maximum::apply(a, b, static_cast<const int*>(nullptr));
  }
};

struct Amin {
  template <class V>
  static TL_INLINE V start() {
    using L = std::numeric_limits<Lane<V>>;
    return broadcast<V>(L::has_infinity ? L::infinity() : L::max());
  }
  template <class V>
  static TL_INLINE V step(V acc, V x, V) {
    return merge(acc, x);
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return functions::minimum::apply(a, b, static_cast<const int*>(nullptr));
  }
};

// On truth values.
struct Any {
  template <class V>
  static TL_INLINE V start() {
    return false;
  }
  template <class V>
  static TL_INLINE V step(V acc, V x, V) {
    return acc | x;
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return a | b;
  }
};
struct All {
  template <class V>
  static TL_INLINE V start() {
    return true;
  }
  template <class V>
  static TL_INLINE V step(V acc, V x, V) {
    return acc & x;
  }
  template <class V>
  static TL_INLINE V merge(V a, V b) {
    return a & b;
  }
};

// The sum of squared distances from `shift`.
struct Squares : Sum {
  template <class V>
  static TL_INLINE V step(V acc, V x, V shift) {
    const V d = x - shift;
    return fma(d, d, acc);
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE::steps

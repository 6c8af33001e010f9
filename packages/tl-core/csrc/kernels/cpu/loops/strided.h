// Walking over the positions of a strided block, dimensions innermost first.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/isa.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kMaxDims = 64;

TL_INLINE int64_t product(const int64_t* sizes, int dims) {
  int64_t n = 1;
  for (int d = 0; d < dims; ++d) n *= sizes[d];
  return n;
}

// Of the dimensions but the innermost one; the pointer may be null where there are none.
TL_INLINE int64_t outer_product(const int64_t* sizes, int dims) {
  return dims > 1 ? product(sizes + 1, dims - 1) : 1;
}

// The byte offset of the element with this running number.
TL_INLINE int64_t offset_of(int64_t number, const int64_t* sizes, const int64_t* strides, int dims) {
  int64_t offset = 0;
  for (int d = 0; d < dims; ++d) {
    offset += number % sizes[d] * strides[d];
    number /= sizes[d];
  }
  return offset;
}

// f(offset) for each position in order, the first dimension fastest.
template <class F>
TL_INLINE void for_each_offset(const int64_t* sizes, const int64_t* strides, int dims, F f) {
  if (dims == 0) return f(int64_t{0});
  int64_t index[kMaxDims] = {};
  int64_t offset = 0;
  if (product(sizes, dims) == 0) return;
  for (;;) {
    f(offset);
    int d = 0;
    while (++index[d] == sizes[d]) {
      offset -= (sizes[d] - 1) * strides[d];
      index[d] = 0;
      if (++d == dims) return;
    }
    offset += strides[d];
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

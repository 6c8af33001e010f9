// Radix keys of a row: an order-preserving transform of elements to unsigned integers.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

// Keys of 64 bits for elements of as many, else of 32; `flip` turns the order around.
using KeyReader = void (*)(const char* in, int64_t stride, int64_t n, bool flip, void* keys);
KeyReader key_reader(DType dtype);  // raises NotImplementedError for complex numbers

template <class K>
struct KeyRange {
  K low, high;
};
KeyRange<uint32_t> range_of(const uint32_t* keys, int64_t n);
KeyRange<uint64_t> range_of(const uint64_t* keys, int64_t n);

}  // namespace tl::cpu

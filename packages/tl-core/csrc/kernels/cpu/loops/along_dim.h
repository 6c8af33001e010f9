// Operations along one dimension: softmax, scans, sorting.
#pragma once

#include <cstdint>

namespace tl::cpu {

inline constexpr int kAlongOperands = 4;

// The dimension the operation runs along has n elements; the other dimensions, innermost first, number the
// lines. Strides are in bytes, one set for each operand (the function says which operand is which).
struct AlongShape {
  int64_t n;
  int64_t along[kAlongOperands];
  int dims;
  const int64_t* sizes;
  const int64_t* strides[kAlongOperands];
};

}  // namespace tl::cpu

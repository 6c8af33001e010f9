// Zero search: whether integers hold a zero, so that a division by it is refused before memory is touched.
#pragma once

#include <cstdint>

namespace tl::cpu {

// Whether one of n integers of that size, `stride` bytes apart, is zero.
bool has_zero(const char* data, int64_t stride, int64_t n, int64_t item_size);

}  // namespace tl::cpu

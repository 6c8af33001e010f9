// Whether dense arrays hold equal elements; ends early where they do not.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tl::cpu {

// Of a NaN, nothing is equal; zeros of either sign are. Not for types that are only stored.
bool has_equality(DType dtype);
bool equal_elements(DType dtype, const char* a, const char* b, int64_t n);

}  // namespace tl::cpu

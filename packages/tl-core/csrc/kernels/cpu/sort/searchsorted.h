// Searchsorted: lower or upper bound of values in sorted rows.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

// WriteCombiningBuffers of `width` sorted numbers and `count` wanted ones each; one sorted line may serve
// all. All dense, of Float32, Float64, Int32 or Int64. The place of each: how many of the sorted are less
// (right: not greater) than it; a NaN stands at the end.
struct SearchShape {
  int64_t lines, width, count;
  bool one_line, right;
};
void search_sorted(DType dtype, const SearchShape& shape, const char* sorted, const char* wanted,
                   int64_t* out);

}  // namespace tl::cpu

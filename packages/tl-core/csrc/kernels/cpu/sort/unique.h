// Which elements, or rows, of a dense array are equal.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

// What is asked of each group: null where it is not.
struct Groups {
  int64_t* of_rows;  // each row's group
  int64_t* first;    // the group's first row
  int64_t* counts;   // how many rows it has
  char* values;      // its element, where rows have one
};

// `n` rows of `width` elements, grouped in their order (sorted), or where equal ones stand beside each other
// (not sorted). Returns the number of groups. A NaN equals nothing. Not for complex numbers.
int64_t group_equal(DType dtype, const char* in, int64_t n, int64_t width, bool sorted, const Groups& groups);

}  // namespace tl::cpu

// Which elements, or rows, of a dense array are equal.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

// `n` rows of `width` elements. In their order (sorted), or where equal ones stand beside each other (not
// sorted), each group gets a number: `groups[row]`, unless null; its first row is `first[group]`, its size
// `counts[group]`. Returns the number of groups. A NaN equals nothing. Not for complex numbers.
int64_t group_equal(DType dtype, const char* in, int64_t n, int64_t width, bool sorted, int64_t* groups,
                    int64_t* first, int64_t* counts);

}  // namespace tl::cpu

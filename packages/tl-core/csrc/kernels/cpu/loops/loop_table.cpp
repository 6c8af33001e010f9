// Errors that elementwise loops raise for their element values.
#include "kernels/cpu/loops/loop_table.h"

#include "base/error.h"

namespace tl::cpu {

void raise_zero_division() { fail(ErrorKind::Runtime, "ZeroDivisionError"); }

void raise_index(int64_t index, int64_t dim, int64_t size) {
  fail(ErrorKind::Index, "index ", index, " is out of bounds for dimension ", dim, " with size ", size);
}

}  // namespace tl::cpu

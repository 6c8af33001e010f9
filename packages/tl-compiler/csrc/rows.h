// Tensors as rows of equal length: how operands lie along and across the rows of a result.
#pragma once

#include <vector>

#include "program.h"

namespace tl::compiler {

// An operand beside the rows of a result; strides in elements.
struct RowOperand {
  int64_t inner = 0;  // along the row
  int ndim = 0;       // across the rows, the fastest first, merged
  int64_t sizes[kMaxDims], strides[kMaxDims];
};

// The length of a result's rows if it consists of that many; 0 if it does not.
int64_t row_length(const Geometry& result, int64_t rows);
// Whether an operand has one stride along each row of a result that consists of `rows`.
bool lies_in_rows(const Geometry& operand, const Geometry& result, int64_t rows, RowOperand& out);
// Whether an operand of each row lies in the same row of a result whose rows have `length` elements.
bool lies_in_same_row(const RowOperand& operand, int64_t offset, int64_t columns, int64_t length);

}  // namespace tl::compiler

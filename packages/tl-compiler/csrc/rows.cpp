// A result is row-major; its leading dimensions count the rows, the others lie within a row.
#include "rows.h"

#include <algorithm>

namespace tl::compiler {

namespace {
// How many dimensions count the rows, or -1.
int leading(const Geometry& g, int64_t rows) {
  int64_t n = 1;
  int d = 0;
  while (d < g.ndim && n < rows) n *= g.sizes[d++];
  return n == rows ? d : -1;
}

// The stride of an operand along a dimension of the result: sizes are aligned at their ends.
int64_t stride_of(const Geometry& operand, const Geometry& result, int d) {
  const int at = d - (result.ndim - operand.ndim);
  return at < 0 || operand.sizes[at] == 1 ? 0 : operand.strides[at];
}
}  // namespace

int64_t row_length(const Geometry& g, int64_t rows) {
  if (!g.is_row_major() || g.offset || leading(g, rows) < 0) return 0;
  return g.numel() / rows;
}

bool lies_in_rows(const Geometry& operand, const Geometry& result, int64_t rows, RowOperand& out) {
  const int first = leading(result, rows);
  int64_t length = 1;
  out = {};
  for (int d = result.ndim - 1; d >= first; --d) {
    if (result.sizes[d] == 1) continue;
    const int64_t stride = stride_of(operand, result, d);
    if (length == 1) out.inner = stride;
    if (stride != out.inner * length) return false;
    length *= result.sizes[d];
  }
  for (int d = first - 1; d >= 0; --d) {
    if (result.sizes[d] == 1) continue;
    const int64_t stride = stride_of(operand, result, d);
    const int last = out.ndim - 1;
    if (last >= 0 && stride == out.strides[last] * out.sizes[last]) {
      out.sizes[last] *= result.sizes[d];
      continue;
    }
    out.sizes[out.ndim] = result.sizes[d];
    out.strides[out.ndim++] = stride;
  }
  return true;
}

bool lies_in_same_row(const RowOperand& o, int64_t offset, int64_t columns, int64_t length) {
  return o.ndim == 1 && o.strides[0] == length && o.inner >= 0 && offset >= 0 &&
         offset + (columns - 1) * o.inner < length;
}

}  // namespace tl::compiler

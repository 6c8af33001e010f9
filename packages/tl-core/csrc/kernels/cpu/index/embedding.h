// Embedding: gathers rows of a table by index, and scatter_add of rows for its gradient.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

struct RowTable {
  int64_t rows, width;  // elements of a row
};

// out[i] = table[indices[i]], of any dtype.
void gather_rows(const RowTable& table, int64_t itemsize, const char* data, const int64_t* indices, int64_t n,
                 char* out);

// Rows to be added to those of a table; without counts they are 1.
struct IndexedRows {
  const char* rows;
  const int64_t* indices;
  int64_t n;
  int64_t skipped;  // an index
  const int64_t* counts;
};

// out[indices[i]] += rows[i] / counts[indices[i]], in the order of i. float32 and float64.
void add_rows(DType dtype, const RowTable& table, const IndexedRows& from, char* out);

}  // namespace tl::cpu

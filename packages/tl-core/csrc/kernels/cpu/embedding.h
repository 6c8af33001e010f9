// Rows looked up by index, added up by index, and reduced in bags.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

struct RowTable {
  int64_t rows, width;  // elements of a row
};

// out[i] = table[indices[i]], of any dtype.
void gather_rows(const RowTable& table, int64_t itemsize, const char* data, const int64_t* indices, int64_t n,
                 char* out);

// out[indices[i]] += rows[i] / counts[indices[i]], in the order of i, but for indices that are `skipped`.
// float32 and float64; without counts they are 1.
void add_rows(DType dtype, const RowTable& table, const char* rows, const int64_t* indices, int64_t n,
              int64_t skipped, const int64_t* counts, char* out);

enum class BagMode : int64_t { Sum, Mean, Max };

// Bag b has the rows indices[offsets[b]] … indices[offsets[b + 1] - 1], less those that are `skipped`;
// sizes[b] says how many were left. `factors` multiplies each row of a sum, unless null; `winners` takes the
// index of each element of a Max. float32 and float64.
struct Bags {
  int64_t count;
  const int64_t *indices, *offsets;
  int64_t skipped;
  BagMode mode;
};
void reduce_bags(DType dtype, const RowTable& table, const char* data, const Bags& bags, const void* factors,
                 char* out, int64_t* sizes, int64_t* winners);

}  // namespace tl::cpu

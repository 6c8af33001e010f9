// Embedding bag: sum, mean or maximum of the table rows of each bag.
#pragma once

#include "kernels/cpu/index/embedding.h"

namespace tl::cpu {

enum class BagMode : int64_t { Sum, Mean, Max };

// Bag b has the rows indices[offsets[b]] … indices[offsets[b + 1] - 1], less those that are `skipped`.
struct Bags {
  int64_t count;
  const int64_t *indices, *offsets;
  int64_t skipped;
  BagMode mode;
};

// out[b] of the table's dtype, a floating one; zeros where no row is left. sizes[b] says how many were left.
// `winners` takes the index of each element of a Max, -1 where there is none.
struct BagResults {
  char* out;
  int64_t *sizes, *winners;
};

// `factors` multiplies each row of a sum, unless null. A Max's bags have less than 2^31 indices.
void reduce_bags(DType dtype, const RowTable& table, const char* data, const Bags& bags, const char* factors,
                 const BagResults& to);

}  // namespace tl::cpu

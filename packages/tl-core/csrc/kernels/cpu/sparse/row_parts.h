// Even shares of the nonzeros of rows for threads. Their borders do not depend on the number of threads.
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/sparse/csr.h"

namespace tl::cpu {

// f(first row, last row) for parts that cost some `grain` each; a nonzero costs `cost`, a row one more.
template <class F>
void each_part_of_rows(const CompressedRows& a, int64_t cost, F f) {
  constexpr int64_t kGrain = 1 << 16;
  const int64_t work = (a.count() + a.rows) * std::max<int64_t>(cost, 1);
  const int64_t parts = std::clamp<int64_t>(work / kGrain, 1, std::max<int64_t>(a.rows, 1));
  if (parts == 1) return f(int64_t{0}, a.rows);
  // The row before which some share of nonzeros and rows lies.
  const auto border = [&](int64_t part) {
    const int64_t share = part_begin(part, parts, a.count() + a.rows);
    int64_t low = 0, high = a.rows;
    while (low < high) {
      const int64_t mid = (low + high) / 2;
      if (a.offsets[mid] + mid < share)
        low = mid + 1;
      else
        high = mid;
    }
    return low;
  };
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      f(part == 0 ? 0 : border(part), part + 1 == parts ? a.rows : border(part + 1));
  });
}

// Whether n columns are in [0, cols).
inline bool columns_within(const int64_t* columns, int64_t n, int64_t cols) {
  bool good = true;
  for (int64_t i = 0; i < n; ++i) good &= static_cast<uint64_t>(columns[i]) < static_cast<uint64_t>(cols);
  return good;
}

}  // namespace tl::cpu

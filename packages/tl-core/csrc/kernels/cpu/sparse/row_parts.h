// Even shares of the nonzeros of rows for threads. Their borders do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "kernels/cpu/sparse/csr.h"

namespace tl::cpu {

// f(first row, last row) for parts that cost some `kGrain` each and have some `rows` rows at least; a nonzero
// costs `cost`, and a row as much.
template <class F>
void each_part_of_rows(const CompressedRows& a, int64_t cost, F f, int64_t rows = 1) {
  constexpr int64_t kGrain = 1 << 16;
  const int64_t work = (a.count() + a.rows) * std::max<int64_t>(cost, 1);
  const int64_t parts = std::clamp<int64_t>(work / kGrain, 1, std::max<int64_t>(a.rows / rows, 1));
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

// Whether n columns are in [0, cols): neither a column nor what is left beyond it is negative.
inline bool columns_within(const int64_t* columns, int64_t n, int64_t cols) {
  const auto last = static_cast<uint64_t>(cols) - 1;
  uint64_t signs = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto column = static_cast<uint64_t>(columns[i]);
    signs |= column | (last - column);
  }
  return static_cast<int64_t>(signs) >= 0;
}

// As `each_part_of_rows`, for the parts whose columns are in [0, cols); false if there are others.
template <class F>
bool each_checked_part(const CompressedRows& a, int64_t cost, F f, int64_t rows = 1) {
  std::atomic<bool> good = true;
  const auto checked = [&](int64_t begin, int64_t end) {
    const int64_t first = a.offsets[begin];
    if (columns_within(a.columns + first, a.offsets[end] - first, a.cols))
      f(begin, end);
    else
      good = false;
  };
  each_part_of_rows(a, cost, checked, rows);
  return good;
}

}  // namespace tl::cpu

// Gather and scatter loops: 2,048 indices are checked while they are in the cache, then that piece is run.
#include "ops/index/index_loops.h"

#include <algorithm>
#include <atomic>

#include "ops.h"

namespace tl {

void run_gather(const LoopNest& nest, int64_t item_size, int64_t stride) {
  const cpu::ElementwiseLoop loop = cpu::gather_loop(item_size);
  const cpu::IndexParams indices{stride};
  nest.run([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) { loop(d, s, n0, n1, &indices); });
}

namespace {
// Whether the indices of n1 rows of n0 are in [0, size); strides in bytes.
bool are_within(const char* p, int64_t stride0, int64_t stride1, int64_t n0, int64_t n1, int64_t size) {
  for (int64_t j = 0; j < n1; ++j) {
    const char* row = p + j * stride1;
    if (stride0 == sizeof(int64_t)) {
      if (cpu::find_out_of_bounds(reinterpret_cast<const int64_t*>(row), n0, 0, size) < n0) return false;
      continue;
    }
    for (int64_t i = 0; i < n0; ++i) {
      const int64_t index = *reinterpret_cast<const int64_t*>(row + i * stride0);
      if (index < 0 || index >= size) return false;
    }
  }
  return true;
}

// f(data, n0, n1) for pieces of the rows, after a look at their indices; false at the first with one outside.
template <class F>
bool each_piece_within(char* const* d, const int64_t* s, int64_t n0, int64_t n1, int64_t size, F f) {
  constexpr int64_t kPiece = 2048;  // indices that stay in the cache between the look and the use
  const int64_t width = std::min(n0, kPiece), height = kPiece / width;
  for (int64_t j = 0; j < n1; j += height) {
    for (int64_t i = 0; i < n0; i += width) {
      const int64_t m0 = std::min(width, n0 - i), m1 = std::min(height, n1 - j);
      char* at[3];
      for (int k = 0; k < 3; ++k) at[k] = d[k] + i * s[k] + j * s[3 + k];
      if (!are_within(at[2], s[2], s[5], m0, m1, size)) return false;
      f(static_cast<char* const*>(at), m0, m1);
    }
  }
  return true;
}
}  // namespace

bool run_gather_within(const LoopNest& nest, int64_t item_size, int64_t stride, int64_t size) {
  const cpu::ElementwiseLoop loop = cpu::gather_loop(item_size);
  const cpu::IndexParams indices{stride};
  std::atomic<bool> good = true;
  nest.run([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
    const auto piece = [&](char* const* at, int64_t m0, int64_t m1) { loop(at, s, m0, m1, &indices); };
    if (!each_piece_within(d, s, n0, n1, size, piece)) good = false;
  });
  return good;
}

namespace {
struct Scatter {
  cpu::ElementwiseLoop loop;
  cpu::IndexParams indices;

  void operator()(char* const* d, const int64_t* s, int64_t n0, int64_t n1) const {
    char* const data[] = {d[1], d[0], d[2]};
    const int64_t strides[] = {s[1], s[0], s[2], s[4], s[3], s[5]};
    loop(data, strides, n0, n1, &indices);
  }
};
}  // namespace

void run_scatter(const LoopNest& nest, cpu::Combine combine, DType dtype, int64_t stride) {
  nest.run_serial(Scatter{cpu::scatter_loop(combine, dtype), {stride}});
}

bool run_scatter_within(const LoopNest& nest, cpu::Combine combine, DType dtype, int64_t stride,
                        int64_t size) {
  const Scatter scatter{cpu::scatter_loop(combine, dtype), {stride}};
  bool good = true;
  nest.run_serial([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
    const auto piece = [&](char* const* at, int64_t m0, int64_t m1) { scatter(at, s, m0, m1); };
    good = good && each_piece_within(d, s, n0, n1, size, piece);
  });
  return good;
}

}  // namespace tl

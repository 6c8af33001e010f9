// Padding by a gather of positions along each axis.
#include "kernels/cpu/spatial/padding.h"

#include <cstring>

#include "base/parallel.h"

namespace tl::cpu {

namespace {
// A stretch of the row that is read as it lies; around it, element by element.
struct Stretch {
  int64_t begin = 0, end = 0;

  explicit Stretch(const std::vector<int64_t>& from) {
    const auto n = static_cast<int64_t>(from.size());
    for (int64_t b = 0, e; b < n; b = e) {
      for (e = b + 1; e < n && from[e] == from[e - 1] + 1;) ++e;
      if (e - b > end - begin) begin = b, end = e;
    }
  }
};

template <int bytes>
void copy_row(const std::vector<int64_t>& from, Stretch whole, char* out, const char* in) {
  const auto one = [&](int64_t i) { std::memcpy(out + i * bytes, in + from[i] * bytes, bytes); };
  for (int64_t i = 0; i < whole.begin; ++i) one(i);
  if (whole.end > whole.begin)
    std::memcpy(out + whole.begin * bytes, in + from[whole.begin] * bytes,
                static_cast<std::size_t>(whole.end - whole.begin) * bytes);
  for (int64_t i = whole.end; i < static_cast<int64_t>(from.size()); ++i) one(i);
}
}  // namespace

void gather_border(int64_t itemsize, int64_t planes, const int64_t (&sizes)[3],
                   const std::vector<int64_t> (&from)[3], char* out, const char* in) {
  const auto copy = itemsize == 1   ? copy_row<1>
                    : itemsize == 2 ? copy_row<2>
                    : itemsize == 4 ? copy_row<4>
                    : itemsize == 8 ? copy_row<8>
                                    : copy_row<16>;
  const Stretch whole(from[2]);
  const auto depth = static_cast<int64_t>(from[0].size()), height = static_cast<int64_t>(from[1].size());
  const int64_t row = static_cast<int64_t>(from[2].size()) * itemsize;
  parallel_for(0, planes * depth * height, 1 + 32768 / (row + 1), [&](int64_t b, int64_t e) {
    for (int64_t r = b; r < e; ++r) {
      const int64_t p = r / (depth * height), d = from[0][r / height % depth], h = from[1][r % height];
      copy(from[2], whole, out + r * row, in + ((p * sizes[0] + d) * sizes[1] + h) * sizes[2] * itemsize);
    }
  });
}

}  // namespace tl::cpu

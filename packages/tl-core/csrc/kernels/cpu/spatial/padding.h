// Padding from the tensor itself: every axis reads at given positions.
#pragma once

#include <cstdint>
#include <vector>

namespace tl::cpu {

// out[p][d][h][w] = in[p][depth[d]][height[h]][width[w]], elements of 1, 2, 4, 8 or 16 bytes; `sizes` are
// those of the input's axes.
void gather_border(int64_t itemsize, int64_t planes, const int64_t (&sizes)[3],
                   const std::vector<int64_t> (&from)[3], char* out, const char* in);

}  // namespace tl::cpu

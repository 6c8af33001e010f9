// Convolutions of bytes with packed int8 weights, channels last: sums in int32, an epilogue as of int8
// products.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm/int8.h"

namespace tl::cpu {

// Numbers of three axes. A convolution of fewer axes has leading ones of length 1.
struct Axes {
  int64_t n[3];
  int64_t operator[](int i) const { return n[i]; }
  int64_t product() const { return n[0] * n[1] * n[2]; }
};

// Of a pixel, `groups` groups of `channels` bytes lie together. Weights of a group: [n / 16][tap][channels /
// 4][16][4], with zeros at the end of channels and n. `b_zero` and what the epilogue has are of whole panels
// of each group. Of depthwise convolutions, with one channel and one column for each group, weights are
// [tap][group].
struct Int8Convolution {
  int64_t batch, groups, channels, columns;  // channels and columns of a group
  Axes size, kernel, stride, padding, dilation, output;
  const uint8_t* x;
  uint8_t flip;  // which every byte is xored with
  int32_t x_zero;
  const int8_t* packed;
  const int32_t* column_sums;
  const int32_t* b_zero;
  bool depthwise;
};
constexpr int64_t padded_channels(int64_t channels) { return int8_quads(channels) * kQuad; }

void convolve_int8(const Int8Convolution& convolution, const Int8Epilogue& to);

}  // namespace tl::cpu

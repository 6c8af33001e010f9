// Convolution of one to three spatial axes, by implicit GEMM: windows are gathered while they are packed, so
// that no memory grows with the kernel's area.
#pragma once

#include "kernels/cpu/loops/loop_table.h"
#include "tensor/packings.h"

namespace tl::cpu {

// Output q meets input q * step + first + t * tap_step by tap t, if there is such an element.
struct ConvolutionAxis {
  int64_t out = 1, in = 1, taps = 1;
  int64_t step = 1, first = 0, tap_step = 1;
};
inline constexpr int kConvolutionAxes = 3;

// Strides count elements.
struct ConvolutionData {
  char* data = nullptr;
  int64_t batch = 0, channel = 0, axis[kConvolutionAxes] = {};
};
struct ConvolutionWeight {
  char* data = nullptr;
  int64_t group = 0, row = 0, channel = 0, tap[kConvolutionAxes] = {};
};

// out[n, g * rows + m, q] and in[n, g * channels + c, i], tied by weight[g, m, c, t].
struct Convolution {
  int64_t batch = 1, groups = 1, rows = 1, channels = 1;
  ConvolutionAxis axis[kConvolutionAxes];
  ConvolutionData in, out;
  ConvolutionWeight weight;
  const char* bias = nullptr;  // a number for each of the groups' rows; or null
  int64_t bias_stride = 0;
  Packing* packing = nullptr;  // where copies of the weight are, for this call and later ones; or null

  bool axis_out_dense() const {
    return out.axis[kConvolutionAxes - 1] == 1 || axis[kConvolutionAxes - 1].out == 1;
  }
};

// The dtypes: float16, bfloat16, float32, float64, int64. Weight and bias of half types are floats. The
// weight's product has no half types and no integers.
void convolve(DType dtype, const Convolution& c);         // out = bias + the sum over channels and taps
void convolve_weight(DType dtype, const Convolution& c);  // weight = the sum over batch and positions

}  // namespace tl::cpu

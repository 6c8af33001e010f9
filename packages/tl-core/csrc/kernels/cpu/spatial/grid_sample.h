// Reading a grid at given points, its adjoint, and the derivatives of both by the points.
#pragma once

#include <algorithm>

#include "base/dtype.h"

namespace tl::cpu {

struct GridSampling {
  enum Method { Linear, Nearest, Cubic };
  enum Outside { Zeros, Border, Reflection };
  static constexpr int64_t kMostOrder = 4;  // from which on every derivative is zero

  int dims;  // 2 or 3
  Method method;
  Outside outside;
  bool align;
  int64_t batch, channels, points;
  int64_t size[3];  // of the grid's axes, the last coordinate's first: height, width or depth, height, width
  int order[3];     // how often the weights are differentiated by each coordinate: width's, height's, depth's

  int64_t positions() const { return size[0] * size[1] * (dims == 3 ? size[2] : 1); }
  // Whether a derivative of this order is zero.
  bool vanishes() const {
    const int most = method == Nearest ? 0 : method == Linear ? 1 : 3;
    return std::max({order[0], order[1], dims == 3 ? order[2] : 0}) > most;
  }
};

// Of Float32, for up to INT32_MAX positions, or Float64, all dense: input [batch][channels][positions],
// points [batch][points][dims], what is sampled [batch][channels][points].
struct GridSamplingKernels {
  void (*sample)(const GridSampling& s, char* out, const char* input, const char* points);
  void (*adjoint)(const GridSampling& s, char* input, const char* grad, const char* points);
  // The gradient by the points.
  void (*derivative)(const GridSampling& s, char* out, const char* grad, const char* input,
                     const char* points);
};
const GridSamplingKernels& grid_sampling_kernels(DType dtype);

}  // namespace tl::cpu

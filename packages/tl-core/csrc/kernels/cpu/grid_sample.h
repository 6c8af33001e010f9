// Reading a grid at given points, its adjoint, and the derivatives of both by the points.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

struct GridSampling {
  enum Method { Linear, Nearest, Cubic };
  enum Outside { Zeros, Border, Reflection };

  int dims;  // 2 or 3
  Method method;
  Outside outside;
  bool align;
  int64_t batch, channels, points;
  int64_t size[3];  // of the grid's axes, the last coordinate's first: height, width or depth, height, width
  int order[3];     // how often the weights are differentiated by each coordinate: width's, height's, depth's

  int64_t positions() const { return size[0] * size[1] * (dims == 3 ? size[2] : 1); }
};

// Float32 or Float64, all dense: in [batch][channels][positions], points [batch][points][dims], out
// [batch][channels][points].
void grid_sample(DType dtype, const GridSampling& s, char* out, const char* in, const char* points);
// out [batch][channels][positions], which is zeroed first.
void grid_sample_adjoint(DType dtype, const GridSampling& s, char* out, const char* in, const char* points);

}  // namespace tl::cpu

// Discrete Fourier transforms along one axis: complex to complex, real to complex of even length, and back.
#pragma once

#include "base/dtype.h"
#include "base/small_vector.h"

namespace tl::cpu {

// The transforms along an axis. Strides count elements of each side's own type.
struct FftAxis {
  int64_t n;                          // how many complex numbers are transformed; half the real ones
  DimVector sizes;                    // the other dimensions
  DimVector in_strides, out_strides;  // theirs
  int64_t in_stride, out_stride;      // the axis's; 1 on the real side
  bool inverse;
  double scale;
};

// `dtype` is the real type: Float32 or Float64. The output may be the input if both lie alike.
void fft_c2c(DType dtype, const FftAxis& axis, char* out, const char* in);
// 2 n real numbers to n + 1 complex ones.
void fft_r2c(DType dtype, const FftAxis& axis, char* out, const char* in);
// n + 1 complex numbers to 2 n real ones, whose rows the output holds one after the other.
void fft_c2r(DType dtype, const FftAxis& axis, char* out, const char* in);

}  // namespace tl::cpu

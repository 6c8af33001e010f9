// Complex Fourier transforms along one axis, by plan: vectors of transforms at a time.
#pragma once

#include "kernels/cpu/fft/plan.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu {

inline constexpr int kMostLanes = 16;

// Some transforms of one length, as many as a vector has lanes at most. Offsets and strides count real
// numbers, two to a complex one.
struct FftGroup {
  const char* in;
  char* out;
  int64_t in_offset[kMostLanes], out_offset[kMostLanes];
  int lanes;
  int64_t in_stride, out_stride;
  bool inverse;
  double scale;
};

// The columns and rows of one long transform between its two steps: planes of real and imaginary parts.
struct FftSteps {
  FftGroup one;  // of one lane
  char* planes;
  int64_t padded;  // the length of the columns, rounded up to whole vectors
};

// One transform of consecutive complex numbers from `in` to `out`.
void fft_dense(const FftPlan<float>& plan, const float* in, float* out, bool inverse);
void fft_dense(const FftPlan<double>& plan, const double* in, double* out, bool inverse);

// What is compiled for each instruction set: the transforms of a group; the first step of a long transform
// for a group of columns, and the second for one of rows.
template <class T>
struct FftKernels {
  void (*direct)(const FftPlan<T>& plan, const FftGroup& g);
  void (*columns)(const FftPlan<T>& plan, const FftSteps& s, int64_t group);
  void (*rows)(const FftPlan<T>& plan, const FftSteps& s, int64_t group);
};

}  // namespace tl::cpu

TL_LEVELS(extern const FftKernels<float> kFftFloat; extern const FftKernels<double> kFftDouble)

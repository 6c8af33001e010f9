// Complex Fourier transforms along one axis, by plan: a vector of numbers at a time.
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

// What is compiled for each instruction set.
template <class T>
struct FftKernels {
  // The transforms of a group, one a lane.
  void (*direct)(const FftPlan<T>& plan, const FftGroup& g, T* scratch);
  // The transforms of a group of up to `plan.together` of consecutive numbers, by four steps.
  void (*steps)(const FftPlan<T>& plan, const FftGroup& g, T* scratch);
  // The two halves of the four steps of one transform: columns from the first on, as many as a vector has
  // lanes, and likewise rows. `planes` lies between them.
  void (*columns)(const FftPlan<T>& plan, const FftGroup& one, int64_t first, T* planes, T* scratch);
  void (*rows)(const FftPlan<T>& plan, const FftGroup& one, int64_t first, const T* planes, T* scratch);
  // Between a spectrum of n + 1 numbers and that of the n complex numbers that 2 n real ones make.
  void (*unpack)(const FftPlan<T>& plan, T* spectrum, int64_t stride);
  void (*pack)(const FftPlan<T>& plan, const T* spectrum, int64_t stride, T* z);
  // out = a b scale, n complex numbers, with the parts of a or of the result exchanged where that is asked
  // for.
  void (*multiply)(const T* a, bool exchange_in, const T* b, T* out, bool exchange_out, T scale, int64_t n);
};

}  // namespace tl::cpu

TL_LEVELS(extern const FftKernels<float> kFftFloat; extern const FftKernels<double> kFftDouble)

namespace tl::cpu {
inline const FftKernels<float>& fft_kernels(const FftPlan<float>&) { return TL_SELECT(kFftFloat); }
inline const FftKernels<double>& fft_kernels(const FftPlan<double>&) { return TL_SELECT(kFftDouble); }

// One transform of consecutive complex numbers from `in` to `out`.
template <class T>
void fft_dense(const FftPlan<T>& plan, const T* in, T* out, bool inverse);
}  // namespace tl::cpu

// Which dimensions a Fourier transform runs over, and how long the signals are.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace tl {

// What transforms are scaled by, as the private operators number it: nothing, the inverse of the root of how
// many numbers there are, or that of their count.
enum FftScale : int64_t { kFftUnscaled, kFftByRoot, kFftByLength };

// Raises unless transforms are computed in this type.
void check_fft_dtype(DType dtype);

struct FftShape {
  DimVector dims, sizes;  // from the front; as long as each other
  int64_t last = 0;       // of transforms to real numbers: how many there are along the last of the dims
};

// From the arguments `s` and `dim`; raises for repeated dims, sizes below 1 and lengths that differ.
FftShape fft_shape(const Tensor& t, std::optional<IntSpan> s, std::optional<IntSpan> dims);
// The same where the input holds half a spectrum along the last of the dims.
FftShape fft_half_shape(const char* name, const Tensor& t, std::optional<IntSpan> s,
                        std::optional<IntSpan> dims);
// Zeros added, or numbers left out, at the end of each of the dims.
Tensor fft_resized(const Tensor& t, IntSpan dims, IntSpan sizes);

}  // namespace tl

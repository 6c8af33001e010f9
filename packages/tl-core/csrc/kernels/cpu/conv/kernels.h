// Convolution kernels that conv.cpp chooses among, for float and double.
#pragma once

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu {

struct ConvolutionKernels {
  using Kernel = void (*)(const Convolution& c);
  Kernel gather;  // by products of matrices
  Kernel weight;
};

}  // namespace tl::cpu

TL_LEVELS(extern const ConvolutionKernels product_convolutions[2])  // of float, of double
TL_LEVELS(extern const ConvolutionKernels direct_convolutions[2])

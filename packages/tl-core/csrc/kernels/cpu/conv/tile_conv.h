// Convolution of bfloat16 by AMX tiles.
#pragma once

#include "kernels/cpu/conv/conv.h"

namespace tl::cpu {

// out = bias + the sum over channels and taps, weight and bias in float. Null where the processor has no
// tiles, or where most of a tile would be empty.
using TileConvolution = void (*)(const Convolution& c);
TileConvolution tile_convolution(const Convolution& c);

}  // namespace tl::cpu

// Sampling in blocks: maps random words to uniform, normal and Bernoulli samples, for every instruction set.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "kernels/cpu/simd/isa_dispatch.h"

// from + u * (to - from) with u in [0, 1): 24 bits of one word, or 53 bits of two. What rounding makes `to`
// becomes `from`.
TL_LEVELS(void uniform_floats(const uint32_t* words, int64_t n, float from, float to, float* out))
TL_LEVELS(void uniform_doubles(const uint32_t* words, int64_t n, double from, double to, double* out))
// Pairs of uniform numbers, eight apart, into normal ones; n is a multiple of 16.
TL_LEVELS(void normal_floats(float* values, int64_t n, float mean, float std))
TL_LEVELS(void round_to_half(const float* values, int64_t n, Half* out))
TL_LEVELS(void round_to_bfloat16(const float* values, int64_t n, BFloat16* out))
// Whether 53 bits of two words are below the bound.
TL_LEVELS(void words_below(const uint32_t* words, int64_t n, uint64_t bound, uint8_t* out))

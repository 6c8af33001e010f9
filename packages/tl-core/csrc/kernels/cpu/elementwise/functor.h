// How a functor is written: one struct an operator. PARAMS counts its numbers, which `p` points at; SIMD says
// that the text also computes vectors of float and double (then the loops use only those for floating
// dtypes).
#pragma once

#include "kernels/cpu/loops/arithmetic.h"

#define TL_FUNCTOR(NAME, PARAMS, SIMD, INPUTS, ...)                    \
  struct NAME {                                                        \
    static constexpr int params = PARAMS;                              \
    static constexpr bool simd = SIMD;                                 \
    template <class T, class P>                                        \
    static TL_INLINE auto apply(INPUTS, [[maybe_unused]] const P* p) { \
      __VA_ARGS__                                                      \
    }                                                                  \
  };
#define TL_TWO T x, T y
#define TL_THREE T x, T y, T z
#define TL_UNARY(NAME, SIMD, ...) TL_FUNCTOR(NAME, 0, SIMD, T x, __VA_ARGS__)
#define TL_UNARY_WITH(NAME, PARAMS, SIMD, ...) TL_FUNCTOR(NAME, PARAMS, SIMD, T x, __VA_ARGS__)
#define TL_BINARY(NAME, PARAMS, SIMD, ...) TL_FUNCTOR(NAME, PARAMS, SIMD, TL_TWO, __VA_ARGS__)
#define TL_TERNARY(NAME, PARAMS, SIMD, ...) TL_FUNCTOR(NAME, PARAMS, SIMD, TL_THREE, __VA_ARGS__)

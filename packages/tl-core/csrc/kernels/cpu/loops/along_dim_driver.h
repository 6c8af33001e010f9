// Dividing the lines of an AlongShape among threads.
#pragma once

#include "base/parallel.h"
#include "kernels/cpu/loops/along_dim.h"
#include "kernels/cpu/loops/strided.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int64_t kAlongGrain = 1 << 15;

// f(first elements of the operands, number of lines) for groups of up to `width` lines that are neighbours in
// the innermost other dimension.
template <int operands, class F>
TL_INLINE void for_each_lines(const AlongShape& s, char* const* data, int64_t width, F f) {
  const int64_t inner = s.dims ? s.sizes[0] : 1, groups = (inner + width - 1) / width;
  const int64_t total = groups * outer_product(s.sizes, s.dims);
  if (inner == 0 || total == 0) return;
  parallel_for(0, total, kAlongGrain / (s.n * (inner < width ? inner : width) + 16) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t outer = i / groups, first = i % groups * width;
                   char* at[operands];
                   for (int k = 0; k < operands; ++k) {
                     at[k] = data[k];
                     if (s.dims)
                       at[k] += first * s.strides[k][0] +
                                offset_of(outer, s.sizes + 1, s.strides[k] + 1, s.dims - 1);
                   }
                   f(at, inner - first < width ? inner - first : width);
                 }
               });
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

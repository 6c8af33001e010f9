// Reductions over any set of dimensions. They split themselves over the pool's threads; how they split, and
// with it the order of additions, depends on sizes and strides only.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

// The operands of a reduction: retained and reduced dimensions, innermost first, strides in bytes, neighbours
// that can be merged already merged. The order of the reduced dimensions is free except for the indices of
// `extreme`, which count them, the last slowest.
struct ReduceShape {
  int retained_dims, reduced_dims;
  const int64_t* retained_sizes;
  const int64_t* out_strides;       // of the retained dimensions in the output, by dimension
  const int64_t* second_strides;    // the same in the second output, where there is one
  const int64_t* retained_strides;  // of the retained dimensions in the input
  const int64_t* reduced_sizes;
  const int64_t* reduced_strides;
};

// Sums and products of integers and bool are int64. Var and Std: `param` is the correction; their second
// output, if not null, gets the mean. Amax and Amin of nothing are their neutral elements: the caller refuses
// them.
enum class Reduce { Sum, Mean, Prod, Amax, Amin, Any, All, Norm2, Var, Std };

bool reduce_exists(
    Reduce op,
    DType in);  // there is no mean of integers, no largest complex number, no Norm2 or Var but of reals
DType reduce_result(Reduce op, DType in);
void reduce(Reduce op, DType in_dtype, char* out, char* second, const char* in, const ReduceShape& shape,
            double param = 0);

// The largest (smallest) element into `out`, if not null, and the index of its first occurrence,
// int64, into `second`. A NaN wins. There must be an element; not for complex numbers.
void extreme(bool largest, DType dtype, char* out, char* second, const char* in, const ReduceShape& shape);

}  // namespace tl::cpu

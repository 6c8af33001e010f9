// Checks that many operators share, of the tensors that they write. All raise before memory is touched.
#pragma once

#include "tensor/tensor.h"

namespace tl {

// No two elements of a tensor that is written may share memory.
void check_no_internal_overlap(const Tensor& t);
// Whether two tensors have memory in common; those with gaps are taken to be apart.
bool share_elements(const Tensor& a, const Tensor& b);
// An output may be one of the inputs, or apart from it, but not overlap it in part.
void check_no_partial_overlap(const Tensor& out, const Tensor& in);
// An output that is written in another order than it is read must be apart from the input.
void check_apart(const Tensor& out, const Tensor& in);
// out= must be able to hold the dtype: "result type Float can't be cast to the desired output type Long".
void check_castable(DType from, const Tensor& out);

}  // namespace tl

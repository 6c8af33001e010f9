// Outputs given with out=: checked, resized, filled.
#pragma once

#include "dispatch/operator.h"
#include "iter/checks.h"

namespace tl {

// The output of an operator whose result has this shape and dtype: checked and resized if given, else fresh.
// One that is resized gets the strides, contiguous ones if there are none.
Tensor prepare_out(Out out, IntSpan sizes, TensorOptions options, IntSpan strides = {});
// The value, or where out= is given that tensor with the value in it: for composite operators.
Tensor copied_out(const Tensor& value, Out out);
// The input, or a copy of it where the output lies in the same storage: for kernels that read after they
// write.
Tensor isolate(const Tensor& in, const Tensor& out);
// The tensor that an operator changes: a copy of the input, the output with its elements, or the input itself
// in the in-place form, whose output is the input.
Tensor copy_to_out(const Tensor& self, Out out);
// out= must have exactly the result's dtype; `where` stands before the message.
void check_out_dtype(Out out, DType dtype, const char* where = "");

}  // namespace tl

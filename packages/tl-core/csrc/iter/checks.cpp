// Checks of outputs: overlapping memory, and casts between kinds of dtypes.
#include "iter/checks.h"

#include <algorithm>

#include "base/error.h"
#include "iter/dtypes.h"
#include "tensor/geometry.h"

namespace tl {

void check_castable(DType from, const Tensor& out) {
  TL_CHECK(can_cast(from, out.dtype()), Runtime, "result type ", scalar_type_name(from),
           " can't be cast to the desired output type ", scalar_type_name(out.dtype()));
}

void check_no_internal_overlap(const Tensor& t) {
  TL_CHECK(!may_overlap(t.sizes(), t.strides()), Runtime,
           "unsupported operation: more than one element of the written-to tensor refers to a single memory "
           "location. "
           "Please clone() the tensor before performing the operation.");
}

void check_no_partial_overlap(const Tensor& out, const Tensor& in) {
  if (out.storage() != in.storage() || out.same(in) || !out.numel() || !in.numel()) return;
  const bool identical = out.data() == in.data() && std::ranges::equal(out.sizes(), in.sizes()) &&
                         std::ranges::equal(out.strides(), in.strides());
  if (identical || !is_dense(out.sizes(), out.strides()) || !is_dense(in.sizes(), in.strides())) return;
  const char* a = out.ptr<char>();
  const char* b = in.ptr<char>();
  const bool disjoint = a + out.numel() * out.itemsize() <= b || b + in.numel() * in.itemsize() <= a;
  TL_CHECK(disjoint, Runtime,
           "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
           "single memory "
           "location. Please clone() the tensor before performing the operation.");
}

}  // namespace tl

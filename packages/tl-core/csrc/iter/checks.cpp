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

bool share_elements(const Tensor& a, const Tensor& b) {
  if (a.storage() != b.storage() || !a.numel() || !b.numel()) return false;
  if (!is_dense(a.sizes(), a.strides()) || !is_dense(b.sizes(), b.strides())) return a.same(b);
  const char* first = a.ptr<char>();
  const char* second = b.ptr<char>();
  return first < second + b.numel() * b.itemsize() && second < first + a.numel() * a.itemsize();
}

namespace {
void check_shared(bool shared) {
  TL_CHECK(!shared, Runtime,
           "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
           "single memory "
           "location. Please clone() the tensor before performing the operation.");
}
}  // namespace

void check_apart(const Tensor& out, const Tensor& in) { check_shared(share_elements(out, in)); }

void check_no_partial_overlap(const Tensor& out, const Tensor& in) {
  const bool identical = out.same(in) || (out.storage() == in.storage() && out.data() == in.data() &&
                                          std::ranges::equal(out.sizes(), in.sizes()) &&
                                          std::ranges::equal(out.strides(), in.strides()));
  check_shared(!identical && share_elements(out, in));
}

}  // namespace tl

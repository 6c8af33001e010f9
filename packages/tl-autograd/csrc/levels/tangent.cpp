// Layout of tangents: views of a tensor read its tangent by the same strides, so that both have the same
// ones.
#include "levels/tangent.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "levels/entry.h"
#include "node.h"
#include "ops.h"
#include "saved_hooks.h"

namespace tl::autograd {

namespace {
bool same_strides(const TlTensor* a, const TlTensor* b) {
  const int64_t *sizes = api->tensor_sizes(a), *one = api->tensor_strides(a), *other = api->tensor_strides(b);
  for (int d = 0; d < api->tensor_ndim(a); ++d)
    if (sizes[d] != 1 && one[d] != other[d]) return false;
  return true;
}

bool laid_out_alike(const TlTensor* t, const TlTensor* tangent) {
  if (is_sparse(t)) return true;
  if (is_sparse(tangent) || api->tensor_marks(t) != api->tensor_marks(tangent)) return false;
  return api->tensor_numel(t) == 0 || same_strides(t, tangent);
}

int64_t storage_elements(const TlTensor* t) {
  const int64_t bytes = TL_DTYPE_BITS(api->tensor_dtype(t)) / 8;
  return bytes ? api->tensor_storage_bytes(t) / bytes : 0;
}

// Whether two indices may name one element: each stride must step over all that those below it reach.
bool may_overlap(const TlTensor* t) {
  const int64_t *sizes = api->tensor_sizes(t), *strides = api->tensor_strides(t);
  std::vector<int> order(static_cast<size_t>(api->tensor_ndim(t)));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int d) { return strides[d]; });
  int64_t reach = 0;
  for (const int d : order) {
    if (sizes[d] == 1) continue;
    if (strides[d] <= reach) return true;
    reach += (sizes[d] - 1) * strides[d];
  }
  return false;
}

Tensor marked_like(const TlTensor* t, Tensor copy) {
  const int bits = api->tensor_marks(t);
  if (bits & TL_MARK_CONJUGATED) copy = conj_view(copy.get());
  if (bits & TL_MARK_NEGATED) copy = neg_view(copy.get());
  return copy;
}

Tensor filled(const TlTensor* like, Tensor copy, const Tensor& tangent) {
  copy = marked_like(like, std::move(copy));
  copy_into(copy.get(), tangent.get());
  return copy;
}

// Where elements share memory, their tangents do not: a contiguous copy, of which every view can be taken.
Tensor in_strides_of(TlTensor* t, const Tensor& tangent) {
  static const TlOperator* op = operator_named("new_empty_strided");
  if (api->tensor_numel(t) != 0 && may_overlap(t)) return clone_contiguous(tangent.get());
  const auto n = static_cast<size_t>(api->tensor_ndim(t));
  Tensor copy = call_one(op, {value(tangent), ints(api->tensor_sizes(t), n), ints(api->tensor_strides(t), n),
                              none(), none(), none(), none()});
  return filled(t, std::move(copy), tangent);
}

bool placed_alike(const TlTensor* t, const TlTensor* tangent) {
  if (is_sparse(t)) return true;
  if (!laid_out_alike(t, tangent)) return false;
  return hides_batch(tangent) || (api->tensor_offset(t) == api->tensor_offset(tangent) &&
                                  storage_elements(t) == storage_elements(tangent));
}

Tensor placed_like(TlTensor* t, const Tensor& tangent) {
  static const TlOperator* op = operator_named("new_zeros");
  const int64_t n = storage_elements(t);
  Tensor memory = call_one(op, {value(tangent), ints(&n, 1), none(), none(), none(), none()});
  Tensor copy = as_strided(memory.get(), static_cast<size_t>(api->tensor_ndim(t)), api->tensor_sizes(t),
                           api->tensor_strides(t), api->tensor_offset(t));
  return filled(t, std::move(copy), tangent);
}
}  // namespace

Tensor in_memory_like(TlTensor* t, Tensor tangent) {
  if (placed_alike(t, tangent.get())) return tangent;
  if (may_overlap(t))
    fail(TL_ERROR_RUNTIME,
         "as_strided: elements of the input share memory, and their tangents do not: the tangent of the "
         "result "
         "is not known. clone() the input first");
  return placed_like(t, tangent);
}

namespace {
// The node made its alias of the result before the result had a tangent.
void give_to_saved_result(TlTensor* t, const Level& level, const Tensor& tangent) {
  const void* slot = api->slot_get(t, TL_LAYER_AUTOGRAD);
  const Edge e = slot ? read_slot(slot) : Edge{};
  const TlValue* saved = e.node ? e.node->saved_result(e.output) : nullptr;
  if (!saved) return;
  if (saved->tag == TL_TENSOR) set_tangent(saved->u.t, level, tangent);
  if (saved->tag == kPacked) note_tangent(*saved, level, tangent);
}
}  // namespace

void give_tangent(TlTensor* t, const Level& level, Tensor tangent) {
  if (!laid_out_alike(t, tangent.get())) tangent = in_strides_of(t, tangent);
  give_to_saved_result(t, level, tangent);
  set_tangent(t, level, std::move(tangent));
}

void give_input_tangent(TlTensor* t, const Level& level, Tensor tangent) {
  if (!placed_alike(t, tangent.get()) && !may_overlap(t)) tangent = placed_like(t, tangent);
  give_tangent(t, level, std::move(tangent));
}

}  // namespace tl::autograd

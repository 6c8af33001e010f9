// View origin: from a view's flags and its node, and the refusal of writes that its gradient can't follow.
#include "view_origin.h"

#include "tl/view_flags.h"
#include "view.h"

namespace tl::autograd {

namespace {
int flags_of(const TlTensor* view) { return api->tensor_view_flags ? api->tensor_view_flags(view) : 0; }

bool is_multi_view(const Node* node) {
  if (!node || !node->op()) return false;
  const TlOperatorInfo* info = api->op_info(node->op());
  return info->is_view && info->n_rets && result_info(*info, 0).kind == TL_ARG_TENSOR_LIST;
}

Edge slot_edge(TlTensor* t) {
  const void* slot = api->slot_get(t, TL_LAYER_AUTOGRAD);
  return slot ? read_slot(slot) : Edge{};
}

// Whether a view, or a view that it is a view of, is the result of a function written in Python.
bool is_view_of_function(Edge e, TlTensor* base) {
  while (e.node && e.node->op() && api->op_info(e.node->op())->is_view) e = e.node->edges[0];
  return e.node && e.node->python() && e.node != slot_edge(base).node;
}

std::string output_name(Edge e) {
  return "Output " + std::to_string(e.output) + " of " +
         (e.node ? e.node->name() : std::string("a function"));
}

std::string what_is(ViewWrite write) {
  return write == ViewWrite::Direct ? " is being" : " its base or another view of its base has been";
}

// A view taken in one mode and written in another.
[[noreturn]] void refuse_mode(ViewOrigin origin, Edge e, ViewWrite write) {
  const bool inference = origin == ViewOrigin::Inference;
  const std::string start = e.node ? output_name(e) + " is a view of a view which was" : "A view was";
  const std::string mode = inference ? "inference" : "no_grad",
                    block = inference ? "inference_mode" : "no_grad";
  fail(TL_ERROR_RUNTIME, start + " created in " + mode + " mode and" + what_is(write) + " modified inplace " +
                             (inference ? "in normal mode" : "with grad mode enabled") +
                             ". Given that this use case is ambiguous and error-prone, it is forbidden. You "
                             "can clarify your code by "
                             "moving both the view and the inplace either both inside the " +
                             block +
                             " block (if you don't want the inplace to be tracked) or both outside (if you "
                             "want the inplace to be "
                             "tracked).");
}
}  // namespace

ViewOrigin view_origin(TlTensor* view, TlTensor* base, Edge e) {
  const int flags = flags_of(view);
  if (is_view_of_function(e, base))
    return e.node->n_outputs > 1 ? ViewOrigin::SeveralViews : ViewOrigin::OfFunction;
  if (flags & TL_VIEW_INFERENCE) return ViewOrigin::Inference;
  if (flags & TL_VIEW_NO_GRAD) return ViewOrigin::NoGrad;
  if ((flags & TL_VIEW_MULTI_OUTPUT) || is_multi_view(e.node)) return ViewOrigin::SeveralViews;
  return ViewOrigin::Plain;
}

void refuse_view(ViewOrigin origin, Edge e, ViewWrite write) {
  if (origin == ViewOrigin::NoGrad || origin == ViewOrigin::Inference) refuse_mode(origin, e, write);
  const std::string start =
      output_name(e) + " is a view and" + what_is(write) + " modified inplace. This view ";
  if (origin == ViewOrigin::SeveralViews)
    fail(TL_ERROR_RUNTIME, start +
                               "is the output of a function that returns multiple views. Such functions do "
                               "not allow the output views to be modified inplace. You should replace the "
                               "inplace operation by an out-of-place one.");
  fail(TL_ERROR_RUNTIME, start +
                             "was created inside a custom Function (or because an input was returned as-is): "
                             "a write through it would pass the Function's own backward by, and gradients "
                             "would be wrong. Clone the output of the Function first.");
}

bool stands_for_base(TlTensor* t) {
  TlTensor* base = api->tensor_view_base(t);
  constexpr int kUnrecorded = int{TL_VIEW_NO_GRAD} | int{TL_VIEW_INFERENCE};
  return base && (flags_of(t) & kUnrecorded) && gradient_edge(base).node;
}

void check_unchanged(TlTensor* t) {
  if (!(flags_of(t) & TL_VIEW_WRITTEN) || slot_edge(t).node || !stands_for_base(t)) return;
  refuse_view(view_origin(t, api->tensor_view_base(t), {}), {}, ViewWrite::Indirect);
}

}  // namespace tl::autograd

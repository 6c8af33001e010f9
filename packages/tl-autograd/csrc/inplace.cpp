#include "inplace.h"

#include <algorithm>

#include "anomaly.h"
#include "copy_slices.h"
#include "extra.h"
#include "leaf.h"
#include "ops.h"
#include "view.h"

namespace tl::autograd {

namespace {
// The result does not depend on what was written over: no gradient goes back.
class ConstantNode final : public HeapNode<ConstantNode> {
 public:
  ConstantNode(const Recorder& r, uint32_t n_outputs, Edge self) : HeapNode(n_outputs, 1), recorder_(r) {
    if (self.node) self.node->retain();
    edges[0] = self;
    sequence = next_sequence();
  }
  void apply(const GradientsIn&, TlTensor**) override {}
  std::string name() const override { return recorder_.node_name; }
  const TlOperator* op() const override { return recorder_.op; }

 private:
  const Recorder& recorder_;
};

bool is_multi_view(const Node* node) {
  if (!node || !node->op()) return false;
  const TlOperatorInfo* info = api->op_info(node->op());
  return info->is_view && info->n_rets && info->rets[0].kind == TL_ARG_TENSOR_LIST;
}

// Whether a view, or a view that it is a view of, is the result of a function written in Python.
bool is_view_of_function(Edge e, TlTensor* base) {
  while (e.node && e.node->op() && api->op_info(e.node->op())->is_view) e = e.node->edges[0];
  return e.node && e.node->python() && e.node != place_of(base).node;
}

// How a view was taken: all but the first forbid to write through it while gradients are recorded.
enum class ViewOrigin { Plain, NoGrad, SeveralViews, OfFunction };

ViewOrigin origin_of(TlTensor* view, TlTensor* base, Edge e) {
  const int flags = api->tensor_view_flags ? api->tensor_view_flags(view) : 0;
  if (is_view_of_function(e, base))
    return e.node->n_outputs > 1 ? ViewOrigin::SeveralViews : ViewOrigin::OfFunction;
  if (flags & TL_VIEW_NO_GRAD) return ViewOrigin::NoGrad;
  if ((flags & TL_VIEW_MULTI_OUTPUT) || is_multi_view(e.node)) return ViewOrigin::SeveralViews;
  return ViewOrigin::Plain;
}

std::string output_name(Edge e) {
  return "Output " + std::to_string(e.output) + " of " +
         (e.node ? e.node->name() : std::string("a function"));
}

[[noreturn]] void refuse_view(ViewOrigin origin, Edge e) {
  if (origin == ViewOrigin::NoGrad)
    fail(
        TL_ERROR_RUNTIME,
        (e.node ? output_name(e) + " is a view of a view which was" : std::string("A view was")) +
            " created in no_grad mode and is being modified inplace with grad mode enabled. Given that this "
            "use case is ambiguous and "
            "error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
            "either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
            "outside (if you want the inplace to be tracked).");
  const std::string start = output_name(e) + " is a view and is being modified inplace. This view ";
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

void check_view(TlTensor* t, TlTensor* base, Edge e) {
  const ViewOrigin origin = origin_of(t, base, e);
  if (origin != ViewOrigin::Plain) refuse_view(origin, e);
  const Leaf* leaf = as_leaf(place_of(base).node);
  if (leaf && leaf->requires_grad)
    fail(TL_ERROR_RUNTIME,
         "a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

// Whether gradients go through a tensor; a view that was taken without recording stands for its base.
bool in_graph(TlTensor* t) {
  if (gradient_edge(t).node) return true;
  TlTensor* base = api->tensor_view_base(t);
  return base && api->tensor_view_flags && (api->tensor_view_flags(t) & TL_VIEW_NO_GRAD) &&
         gradient_edge(base).node;
}

void move_retained(Edge from, Node* to, uint32_t output) {
  if (!from.node || !from.node->extra) return;
  auto& old = from.node->extra->retained;
  auto it = std::find_if(old.begin(), old.end(), [&](auto& r) { return r.output == from.output; });
  if (it == old.end()) return;
  extra_of(*to).retained.push_back({output, std::move(it->grad)});
  old.erase(it);
}
}  // namespace

void check_writable(TlTensor* t) {
  const Edge e = gradient_edge(t);
  if (TlTensor* base = api->tensor_view_base(t)) check_view(t, base, e);
  if (as_leaf(e.node))
    fail(TL_ERROR_RUNTIME, "a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase(TlTensor* t, Node* node, uint32_t output, int self_edge) {
  const Edge old = gradient_edge(t);
  Node* now = node;
  if (TlTensor* base = api->tensor_view_base(t)) {
    Node* copy = new CopySlices(base, t, node, self_edge);
    set_slot(base, copy, 0);
    api->storage_bits_set(base, kAutogradBit, 1);
    regenerate(t, base);
    now = gradient_edge(t).node;
    output = gradient_edge(t).output;
  } else {
    if (old.node) old.node->retain();  // alive until its retained gradient has moved
    node->retain();
    set_slot(t, node, output);
    api->storage_bits_set(t, kAutogradBit, 1);
    move_retained(old, now, output);
    if (old.node) drop(old.node);
  }
}

Writing::Writing(const Recorder& r, const TlValue* args) : r_(r) {
  collect(args);
  if (r.derivative) gather_edges(r, args, edges_);
  active_ = edges_.any();
  for (TlTensor* t : written_) active_ |= in_graph(t);
  for (TlTensor* t : written_) active_ &= is_differentiable(api->tensor_dtype(t));
  if (!active_) return;
  for (TlTensor* t : written_) check_writable(t);
  if (r.derivative && edges_.any()) save_overwritten(args);
}

Writing::~Writing() {
  for (TlValue& v : before_) forget(v);
}

void Writing::collect(const TlValue* args) {
  const TlValue& v = args[r_.written];
  if (v.tag == TL_TENSOR) {
    written_.push_back(v.u.t);
  } else if (v.tag == TL_TENSOR_LIST) {
    for (uint32_t i = 0; i < v.len; ++i) written_.push_back(list_element(v, i).u.t);
  }
}

bool Writing::overwrites(const TlTensor* t) const {
  return std::any_of(written_.begin(), written_.end(), [&](const TlTensor* w) { return w == t; });
}

namespace {
TlValue cloned(const TlValue& v) {
  GradMode off(false);
  Tensor copy = clone(v.u.t);
  const uint32_t version = api->tensor_version(copy.get());
  return {TL_TENSOR, version, {.t = copy.take()}};
}
}  // namespace

// What a needed formula reads of an argument that is written is cloned; metadata is read now, it may change.
void Writing::save_overwritten(const TlValue* args) {
  const TlProgram& p = r_.derivative->program;
  before_.assign(p.n_saved, none());
  for (int i = 0; i < p.n_saved; ++i) {
    const TlSaved& what = p.saved[i];
    if (what.source != TL_SOURCE_ARG || !(what.blocks & edges_.blocks)) continue;
    const TlValue& v = args[what.index];
    if (what.meta != TL_META_VALUE) {
      before_[i] = read_meta(v, what.meta);
    } else if (v.tag == TL_TENSOR && overwrites(v.u.t)) {
      before_[i] = cloned(v);
    } else if (v.tag == TL_TENSOR_LIST && what.index == r_.written) {
      auto* list = new List;
      before_[i] = {kList, 0, {.p = list}};
      for (uint32_t k = 0; k < v.len; ++k) list->push_back(cloned(list_element(v, k)));
    }
  }
}

void Writing::finish(const TlValue* args) {
  if (!active_) return;
  const auto n = static_cast<uint32_t>(written_.size());
  Node* node;
  if (r_.derivative) {
    node = make_node(r_, args, edges_, written_.data(), n, before_.empty() ? nullptr : before_.data());
  } else {
    node = new ConstantNode(r_, n, n == 1 ? gradient_edge(written_[0]) : Edge{});
  }
  try {
    note_origin(*node);
    for (uint32_t i = 0; i < n; ++i) {
      int self_edge = r_.derivative ? -1 : 0;
      if (r_.written_target >= 0)
        self_edge = static_cast<int>((r_.lists ? edges_.first_edge[r_.written_target] : r_.written_target) +
                                     (r_.writes_list ? i : 0));
      rebase(written_[i], node, i, self_edge);
    }
  } catch (...) {
    drop(node);
    throw;
  }
  drop(node);
}

}  // namespace tl::autograd

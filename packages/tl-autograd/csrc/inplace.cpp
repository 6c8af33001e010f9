// In-place calls under autograd: checks views, clones what a formula still reads, rebases the history.
#include "inplace.h"

#include <algorithm>

#include "anomaly.h"
#include "copy_slices.h"
#include "fallback.h"
#include "leaf.h"
#include "ops.h"
#include "view.h"
#include "view_origin.h"

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

void check_view(TlTensor* t, TlTensor* base, Edge e) {
  const ViewOrigin origin = view_origin(t, base, e);
  if (origin != ViewOrigin::Plain) refuse_view(origin, e, ViewWrite::Direct);
  const Leaf* leaf = as_leaf(edge_of(base).node);
  if (as_leaf(e.node) || (leaf && leaf->requires_grad))
    fail(TL_ERROR_RUNTIME,
         "a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

// Whether gradients go through a tensor; a view that was taken without recording stands for its base.
bool in_graph(TlTensor* t) {
  if (gradient_edge(t).node) return true;
  return stands_for_base(t);
}

}  // namespace

void check_writable(TlTensor* t) {
  const Edge e = gradient_edge(t);
  if (TlTensor* base = api->tensor_view_base(t)) check_view(t, base, e);
  if (as_leaf(e.node))
    fail(TL_ERROR_RUNTIME, "a leaf Variable that requires grad is being used in an in-place operation.");
}

// The base of a view; NULL for a result that a kernel took as a view of a temporary tensor, which has no
// history.
TlTensor* recorded_base(TlTensor* t) {
  TlTensor* base = api->tensor_view_base(t);
  if (!base || edge_of(base).node || !edge_of(t).node) return base;
  check(api->tensor_set_view_base(t, nullptr));
  return nullptr;
}

void rebase(TlTensor* t, Node* node, uint32_t output, int self_edge) {
  if (TlTensor* base = recorded_base(t)) {
    Node* copy = new CopySlices(base, t, node, self_edge);
    set_slot(base, copy, 0);
    api->storage_bits_set(base, kAutogradBit, 1);
    regenerate(t, base);
  } else {
    move_to(t, {node, output});
    api->storage_bits_set(t, kAutogradBit, 1);
  }
}

Writing::Writing(const Recorder& r, const TlValue* args) : r_(r) {
  collect(args);
  if (r.derivative) gather_edges(r, args, edges_);
  active_ = edges_.any() || (r.derivative && reads_unrecorded_view(r, args));
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
  } else if (is_missing(*r_.info)) {
    node = missing_node(r_, n);
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
      // A view with other sizes or strides is another view of its base, which stays as it is.
      TlTensor* base = r_.moves ? recorded_base(written_[i]) : nullptr;
      base ? regenerate(written_[i], base) : rebase(written_[i], node, i, self_edge);
    }
  } catch (...) {
    drop(node);
    throw;
  }
  drop(node);
}

}  // namespace tl::autograd

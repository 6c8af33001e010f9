// Gradient accumulation: takes a gradient nobody else holds, else copies or adds with the leaf's strides.
#include "leaf.h"

#include "ops.h"
#include "tl/sparse_gradient.h"

namespace tl::autograd {

Leaf::Leaf(TlTensor* variable, bool requires_grad)
    : HeapNode(1, 0), requires_grad(requires_grad), variable_(api->weak_from(variable)) {
  if (!variable_) throw Pending();
  sequence = UINT64_MAX;  // gradients are written as soon as they are complete
  set(Node::Leaf);
}

Leaf::~Leaf() { api->weak_release(variable_); }

Tensor Leaf::variable() const { return Tensor(api->weak_lock(variable_)); }

void Leaf::apply(const GradientsIn& in, TlTensor**) {
  if (!in.grads[0]) return;
  NodeLock lock(*this);
  accumulate(in.grads[0], in.create_graph);
}

void Leaf::accumulate(TlTensor* g, bool create_graph) {
  if (grad_dtype < 0 || api->tensor_dtype(g) == grad_dtype) [[likely]]
    return add(g, create_graph);
  GradMode recording(create_graph);
  add(converted(g, grad_dtype, api->tensor_device(g)).get(), create_graph);
}

void Leaf::add(TlTensor* g, bool create_graph) {
  if (!grad) {
    grad = fresh(g, create_graph);
  } else if (create_graph || (is_sparse(grad.get()) && !is_sparse(g))) {
    grad = sum(grad, Tensor::share(g));
  } else {
    add_into(grad.get(), g);
  }
}

namespace {
// Values whose elements repeat in memory, as an expanded tensor's, could not be written in place.
bool has_contiguous_values(TlTensor* sparse) {
  static const TlOperator* values = operator_named("_values");
  return api->tensor_is_contiguous(call_one(values, {value(Tensor::share(sparse))}).get());
}
}  // namespace

// The caller's handle is one reference: a gradient that nobody else holds becomes .grad as it is, any other
// is copied, because it may be another leaf's too. The copy has the strides of the variable.
Tensor Leaf::fresh(TlTensor* g, bool create_graph) const {
  Tensor v = variable();
  const bool dense = !v || api->tensor_is_contiguous(v.get()) || is_sparse(v.get());
  if (!create_graph && dense && api->tensor_is_contiguous(g) && solely_owned(g)) return Tensor::share(g);
  if (is_sparse(g)) {
    const bool taken = !create_graph && solely_owned(g) && has_contiguous_values(g);
    return taken ? Tensor::share(g) : clone(g);
  }
  if (dense) return clone_contiguous(g);
  Tensor copy = empty_like(v.get());
  if (grad_dtype != kOwnDtype) copy = converted(copy.get(), api->tensor_dtype(g), api->tensor_device(g));
  copy_into(copy.get(), g);
  return copy;
}

namespace {
Edge slot_of(TlTensor* t) {
  const void* slot = api->slot_get(t, TL_LAYER_AUTOGRAD);
  return slot ? read_slot(slot) : Edge{};
}

void switch_leaf(TlTensor* t, class Leaf& leaf, bool on) {
  leaf.requires_grad = on;
  api->bits_set(t, kAutogradBit, on);
  if (is_sparse(t)) api->bits_set(t, TL_BIT_STORED_GRADIENT, 0);
}
}  // namespace

Leaf* leaf_of(TlTensor* t, bool requires_grad_if_made) {
  Edge e = slot_of(t);
  if (e.node) return as_leaf(e.node);
  auto* leaf = new class Leaf(t, requires_grad_if_made);
  set_slot(t, leaf, 0);
  api->bits_set(t, kAutogradBit, requires_grad_if_made);
  return leaf;
}

void set_requires_grad(TlTensor* t, bool on) {
  if (on && !is_differentiable(api->tensor_dtype(t)))
    fail(TL_ERROR_RUNTIME, "Only Tensors of floating point and complex dtype can require gradients");
  if (on && api->tensor_is_inference(t) && !api->inference_mode())
    fail(TL_ERROR_RUNTIME,
         "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  Edge e = slot_of(t);
  if (e.node && !as_leaf(e.node)) {
    if (on) return;
    fail(TL_ERROR_RUNTIME,
         "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
         "in a subgraph "
         "that doesn't require differentiation use var_no_grad = var.detach().");
  }
  if (!e.node && !on) return;
  switch_leaf(t, *leaf_of(t, on), on);
}

}  // namespace tl::autograd

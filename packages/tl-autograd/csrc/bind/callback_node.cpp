// Nodes of extensions: their functions get gradients and return gradients, whose shapes and types are
// checked.
#include "bind/callback_node.h"

#include "inplace.h"
#include "ops.h"
#include "tl/autograd.h"
#include "view.h"

namespace tl::autograd {

[[noreturn]] void fail_released();

CallbackNode::CallbackNode(const TlNodeDef& def, TlTensor* const* inputs, int n_inputs, int n_outputs)
    : HeapNode(static_cast<uint32_t>(n_outputs), static_cast<uint32_t>(n_inputs)),
      def_(def),
      name_(def.name ? def.name : "CallbackNode"),
      base_slots_(static_cast<size_t>(n_outputs)) {
  sequence = next_sequence();
  for (uint32_t i = 0; i < n_edges; ++i) {
    inputs_.push_back(meta_of(inputs[i]));
    edges[i] = gradient_edge(inputs[i]);
    if (edges[i].node) edges[i].node->retain();
  }
}

CallbackNode::~CallbackNode() {
  if (def_.destroy) def_.destroy(def_.ctx);
}

void CallbackNode::release() {
  if (is(Released)) return;
  set(Released);
  if (def_.release) def_.release(def_.ctx);
}

void CallbackNode::apply(const GradientsIn& in, TlTensor** out) {
  NodeLock lock(*this);
  if (is(Released)) fail_released();
  check(def_.backward(def_.ctx, in.grads, static_cast<int>(in.count), in.needs, out,
                      static_cast<int>(n_edges), in.create_graph));
  for (uint32_t i = 0; i < n_edges; ++i) {
    Tensor grad(std::exchange(out[i], nullptr));
    if (grad && in.needs[i]) out[i] = fitted(std::move(grad), i).take();
  }
  if (in.last) release();
}

namespace {
std::string shape_text(const int64_t* sizes, size_t n) {
  std::string text = "[";
  for (size_t i = 0; i < n; ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}
}  // namespace

Tensor CallbackNode::fitted(Tensor grad, uint32_t edge) const {
  const TensorMeta& want = inputs_[edge];
  if (!same_shape(grad.get(), want.sizes.size(), want.sizes.data())) {
    if (!broadcasts_to(want.sizes.size(), want.sizes.data(), grad.get()))
      fail(TL_ERROR_RUNTIME,
           "Function " + name_ + " returned an invalid gradient at index " + std::to_string(edge) +
               " - got " +
               shape_text(api->tensor_sizes(grad.get()), static_cast<size_t>(api->tensor_ndim(grad.get()))) +
               " but expected shape compatible with " + shape_text(want.sizes.data(), want.sizes.size()));
    grad = sum_to_size(grad.get(), want.sizes.size(), want.sizes.data());
  }
  return converted(grad.get(), want.dtype, want.device);
}

void CallbackNode::attach(TlTensor* t, uint32_t output, uint8_t kind, int written_input) {
  if (kind == TL_OUTPUT_WRITTEN) return rebase(t, this, output, written_input);
  if (kind == TL_OUTPUT_CONSTANT || !is_differentiable(api->tensor_dtype(t))) {
    if (gradient_edge(t).node) clear_slot(t);
    return;
  }
  retain();
  set_slot(t, this, output);
  base_slots_[output] =
      autograd::base_slot_of(t);  // writes from now on pass the node by, those before it don't
}

}  // namespace tl::autograd

// The node of a leaf: it holds `.grad` and adds to it.
#pragma once

#include "node.h"

namespace tl::autograd {

class Leaf final : public HeapNode<Leaf> {
 public:
  Leaf(TlTensor* variable, bool requires_grad);
  ~Leaf() override;

  static constexpr int64_t kOwnDtype = -1, kAnyDtype = -2;

  bool requires_grad;
  Tensor grad;
  int64_t grad_dtype = kOwnDtype;  // gradients are converted to it

  Tensor variable() const;  // empty if the tensor is gone
  void apply(const GradientsIn& in, TlTensor** out) override;
  std::string name() const override { return "AccumulateGrad"; }

 private:
  void accumulate(TlTensor* g, bool create_graph);
  void add(TlTensor* g, bool create_graph);
  Tensor fresh(TlTensor* g, bool create_graph) const;

  TlWeakTensor* variable_;
};

inline Leaf* as_leaf(Node* node) { return node && node->is(Node::Leaf) ? static_cast<Leaf*>(node) : nullptr; }
// The tensor's leaf node, made if the tensor has no node; NULL if another node made the tensor.
Leaf* leaf_of(TlTensor* t, bool requires_grad_if_made);
void set_requires_grad(TlTensor* t, bool on);

}  // namespace tl::autograd

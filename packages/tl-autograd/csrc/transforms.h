// The transforms layer: a stack of interpreters on each thread. The top one handles a call and hands it to
// the rest.
#pragma once

#include <unordered_map>
#include <vector>

#include "node.h"

namespace tl::autograd {

// Reverse-mode differentiation as an interpreter: keeps a graph of its own beside those of the levels below
// it, so that transforms nest in any order.
class GradLevel {
 public:
  GradLevel() = default;
  ~GradLevel();
  GradLevel(const GradLevel&) = delete;

  Edge edge(TlTensor* t) const;                       // node NULL: not tracked at this level
  void track(Tensor t, Node* node, uint32_t output);  // shares the node

 private:
  struct Tracked {
    Tensor tensor;  // keeps the handle, and so its address, alive
    Edge edge;      // owned
  };
  std::unordered_map<const TlTensor*, Tracked> tracked_;
};

void install_transforms();
void enter_level();
void leave_level();  // drops the top level; nothing happens without one
// A new handle on `t` that the top level differentiates with respect to.
Tensor level_input(TlTensor* t);
// Leaves the top level with the gradients of `output` (one element) with respect to its inputs, computed by
// the levels below.
std::vector<Tensor> leave_with_gradients(TlTensor* output, const std::vector<TlTensor*>& inputs);

}  // namespace tl::autograd

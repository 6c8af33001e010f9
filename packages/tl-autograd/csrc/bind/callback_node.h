// A node whose gradients functions of C compute.
#pragma once

#include <string>
#include <vector>

#include "derivative.h"
#include "node.h"
#include "tl/autograd.h"

namespace tl::autograd {

class CallbackNode final : public HeapNode<CallbackNode> {
 public:
  CallbackNode(const TlNodeDef& def, TlTensor* const* inputs, int n_inputs, int n_outputs);
  ~CallbackNode() override;

  void apply(const GradientsIn& in, TlTensor** out) override;
  void release() override;
  std::string name() const override { return name_; }
  const void* base_slot_of(uint32_t output) const override { return base_slots_[output]; }

  // Makes `t` an output.
  void attach(TlTensor* t, uint32_t output, uint8_t kind, int written_input);

 private:
  Tensor fitted(Tensor grad, uint32_t edge) const;

  TlNodeDef def_;
  std::string name_;
  std::vector<TensorMeta> inputs_;
  std::vector<const void*> base_slots_;  // by output that is a view: the slot that its base had
};

}  // namespace tl::autograd

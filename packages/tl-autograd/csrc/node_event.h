// A node's work as an event of a recording.
#pragma once

#include "node.h"
#include "tl/recording.h"

namespace tl::autograd {

// The core's table; numbers of nodes come from here then.
void set_recording_table(const TlRecording* table);

// As profiles name it: "MulBackward0", "torch::autograd::AccumulateGrad".
std::string recorded_name(const Node& node);

class NodeEvent {
 public:
  NodeEvent(bool recorded, int kind, const Node& node, TlTensor* const* grads = nullptr, uint32_t n = 0) {
    if (recorded) [[unlikely]]
      begin(kind, node, grads, n);
  }
  ~NodeEvent() {
    if (open_.event) [[unlikely]]
      end();
  }
  NodeEvent(const NodeEvent&) = delete;

 private:
  void begin(int kind, const Node& node, TlTensor* const* grads, uint32_t n);
  void end();
  TlOpenEvent open_{nullptr, 0};
};

}  // namespace tl::autograd

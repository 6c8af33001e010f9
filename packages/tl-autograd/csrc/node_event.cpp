// Nodes in a profile: begin and end of a node's work, through a table of functions that tl-core hands over.
#include "node_event.h"

#include <vector>

#include "thread.h"

namespace tl::autograd {

namespace {
const TlRecording* g_table = nullptr;

int64_t next_number() { return static_cast<int64_t>(thread_data().sequence); }
}  // namespace

void set_recording_table(const TlRecording* table) {
  g_table = table;
  if (table) table->set_sequence_source(next_number);
}

std::string recorded_name(const Node& node) {
  return node.is(Node::Leaf) ? "torch::autograd::AccumulateGrad" : node.name();
}

void NodeEvent::begin(int kind, const Node& node, TlTensor* const* grads, uint32_t n) {
  std::vector<TlValue> values;
  for (uint32_t i = 0; i < n; ++i) values.push_back(value(grads[i]));
  const int64_t sequence = node.is(Node::Leaf) ? -1 : static_cast<int64_t>(node.sequence);
  g_table->begin(kind, recorded_name(node).c_str(), sequence, values.data(), static_cast<int>(n), &open_);
}

void NodeEvent::end() { g_table->end(&open_); }

}  // namespace tl::autograd

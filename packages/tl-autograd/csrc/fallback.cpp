// Nodes of operators without a derivative: one raises, and one warns as PyTorch's fallback does.
#include "fallback.h"

#include <string>
#include <string_view>

namespace tl::autograd {

std::atomic<Fallback> fallback{Fallback::Warn};
void (*warn_of_fallback)(const char* op) = nullptr;
void (*hook_fallback)(TlTensor* t, const char* op) = nullptr;

bool is_missing(const TlOperatorInfo& info) {
  if (!info.no_grad_reason) return !info.program && !info.is_composite;
  return std::string_view(info.no_grad_reason).starts_with("not implemented");
}

// The operators of `prims` are PyTorch's, whose derivative raises.
bool is_own(const TlOperatorInfo& info) {
  const std::string_view name(info.name);
  return name.find("::") != name.npos && !name.starts_with("prims::");
}

namespace {
class MissingNode final : public HeapNode<MissingNode> {
 public:
  MissingNode(const Recorder& r, uint32_t n_outputs) : HeapNode(n_outputs, 0), recorder_(r) {
    sequence = next_sequence();
  }
  void apply(const GradientsIn&, TlTensor**) override {
    const char* reason = recorder_.info->no_grad_reason;
    fail(TL_ERROR_RUNTIME, std::string("derivative for ") + recorder_.info->name + " is not implemented" +
                               (reason ? std::string(": ") + reason : std::string()));
  }
  std::string name() const override { return "NotImplemented"; }
  const TlOperator* op() const override { return recorder_.op; }

 private:
  const Recorder& recorder_;
};

class WarnNode final : public HeapNode<WarnNode> {
 public:
  WarnNode(const Recorder& r, const std::vector<Edge>& inputs)
      : HeapNode(0, static_cast<uint32_t>(inputs.size())), recorder_(r) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].node->retain();
      edges[i] = inputs[i];
    }
    sequence = next_sequence();
  }
  void apply(const GradientsIn&, TlTensor**) override { warn_of_fallback(recorder_.info->name); }
  std::string name() const override { return "WarnNotImplemented"; }
  const TlOperator* op() const override { return recorder_.op; }

 private:
  const Recorder& recorder_;
};
}  // namespace

Node* missing_node(const Recorder& r, uint32_t n_outputs) { return new MissingNode(r, n_outputs); }
Node* fallback_node(const Recorder& r, const std::vector<Edge>& inputs) { return new WarnNode(r, inputs); }

}  // namespace tl::autograd

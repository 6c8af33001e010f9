#include "transforms.h"

#include <memory>

#include "engine.h"
#include "leaf.h"
#include "ops.h"
#include "recorder.h"
#include "thread.h"

namespace tl::autograd {

namespace {
constexpr uint64_t kTransformsBit = uint64_t{1} << TL_LAYER_TRANSFORMS;
using Levels = std::vector<std::unique_ptr<GradLevel>>;

Levels& levels() {
  ThreadData& t = thread_data();
  if (!t.levels) t.levels = new Levels;
  return *static_cast<Levels*>(t.levels);
}

void switch_layer() { api->thread_include(kTransformsBit, !levels().empty()); }

// The stack without its top, for a scope.
class Below {
 public:
  Below() : top_(std::move(levels().back())) {
    levels().pop_back();
    switch_layer();
  }
  ~Below() {
    levels().push_back(std::move(top_));
    switch_layer();
  }
  Below(const Below&) = delete;
  GradLevel& top() { return *top_; }

 private:
  std::unique_ptr<GradLevel> top_;
};

void gather(const Recorder& r, const GradLevel& level, const TlValue* args, CallEdges& out) {
  gather_edges_with(r, args, out, [&](TlTensor* t) { return level.edge(t); });
}

bool tracks(const GradLevel& level, const TlValue& v) {
  if (v.tag == TL_TENSOR) return level.edge(v.u.t).node;
  for (uint32_t i = 0; v.tag == TL_TENSOR_LIST && i < v.len; ++i)
    if (tracks(level, list_element(v, i))) return true;
  return false;
}

void refuse(const Recorder& r, const GradLevel& level, const TlValue* args, int n_args) {
  for (int i = 0; i < n_args; ++i)
    if (tracks(level, args[i]))
      fail(TL_ERROR_NOT_IMPLEMENTED, std::string(r.info->name) +
                                         " inside a transform: in-place operators and operators without a "
                                         "derivative cannot be transformed");
}

std::vector<TlTensor*> result_tensors(const TlValue* rets, int n_rets) {
  std::vector<TlTensor*> tensors;
  for (int i = 0; i < n_rets; ++i) {
    if (rets[i].tag != TL_TENSOR_LIST) tensors.push_back(rets[i].tag == TL_TENSOR ? rets[i].u.t : nullptr);
    for (uint32_t k = 0; rets[i].tag == TL_TENSOR_LIST && k < rets[i].len; ++k)
      tensors.push_back(list_element(rets[i], k).u.t);
  }
  return tensors;
}

void record_at(GradLevel& level, const Recorder& r, const TlValue* args, const TlValue* rets, int n_rets) {
  CallEdges edges;
  gather(r, level, args, edges);
  if (!edges.any()) return;
  const auto tensors = result_tensors(rets, n_rets);
  Node* node = make_node(r, args, edges, tensors.data(), static_cast<uint32_t>(tensors.size()), nullptr,
                         SavedResults::Shared);
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (tensors[i] && is_differentiable(api->tensor_dtype(tensors[i])))
      level.track(Tensor::share(tensors[i]), node, i);
  drop(node);
}

int interpret(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Recorder& r = *static_cast<const Recorder*>(ctx);
  try {
    if (levels().empty()) return api->op_call_below(r.op, TL_LAYER_TRANSFORMS, args, n_args, rets, n_rets);
    Below below;
    if (r.written >= 0 || !r.derivative) {
      if (r.written >= 0 || !r.info->no_grad_reason) refuse(r, below.top(), args, n_args);
    }
    const int status = levels().empty()
                           ? api->op_call_below(r.op, TL_LAYER_TRANSFORMS, args, n_args, rets, n_rets)
                           : api->op_call(r.op, args, n_args, rets, n_rets);
    if (status == 0 && r.derivative && r.written < 0) record_at(below.top(), r, args, rets, n_rets);
    return status;
  } catch (...) {
    for (int i = 0; i < n_rets; ++i) api->value_release(&rets[i]);
    return pending_from_exception();
  }
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {nullptr, nullptr};
  if (api->op_info(op)->is_composite) return 0;
  try {
    *out = {interpret, new Recorder(op)};  // lives as long as the operator: the process
    return 0;
  } catch (...) {
    return pending_from_exception();
  }
}
}  // namespace

GradLevel::~GradLevel() {
  for (auto& [t, tracked] : tracked_) drop(tracked.edge);
}

Edge GradLevel::edge(TlTensor* t) const {
  auto it = tracked_.find(t);
  return it == tracked_.end() ? Edge{} : it->second.edge;
}

void GradLevel::track(Tensor t, Node* node, uint32_t output) {
  node->retain();
  const TlTensor* key = t.get();
  tracked_[key] = {std::move(t), {node, output}};
}

void install_transforms() { check(api->layer_install(TL_LAYER_TRANSFORMS, bind, nullptr)); }

void enter_level() {
  levels().push_back(std::make_unique<GradLevel>());
  switch_layer();
}

void leave_level() {
  if (levels().empty()) return;
  levels().pop_back();
  switch_layer();
}

Tensor level_input(TlTensor* t) {
  if (levels().empty()) fail(TL_ERROR_RUNTIME, "no transform is active on this thread");
  Tensor input;
  {
    Below below;
    input = same_elements(t);
  }
  Node* leaf = new Leaf(input.get(), true);
  levels().back()->track(input, leaf, 0);
  drop(leaf);
  return input;
}

std::vector<Tensor> leave_with_gradients(TlTensor* output, const std::vector<TlTensor*>& inputs) {
  if (levels().empty()) fail(TL_ERROR_RUNTIME, "no transform is active on this thread");
  std::unique_ptr<GradLevel> level = std::move(levels().back());
  leave_level();
  RunOptions options;
  options.accumulate = false;
  options.keep_mode = true;
  Run run(options);
  const Edge root = level->edge(output);
  for (TlTensor* t : inputs) run.add_input(level->edge(t));
  if (root.node) {
    run.add_root(root, ones_like(output));
    run.execute();
  }
  std::vector<Tensor> grads = run.captured();
  for (size_t i = 0; i < grads.size(); ++i)
    if (!grads[i]) grads[i] = zeros(meta_of(inputs[i]));
  return grads;
}

}  // namespace tl::autograd

#include "engine.h"

#include <algorithm>
#include <memory>

#include "anomaly.h"
#include "extra.h"
#include "leaf.h"
#include "levels/level.h"
#include "node_event.h"
#include "ops.h"
#include "thread.h"

namespace tl::autograd {

std::atomic<int64_t> g_hooked_leaves{0};

namespace {
std::atomic<int64_t> g_runs{0};
}

Run::Run(RunOptions options) : options_(options), number_(g_runs.fetch_add(1, std::memory_order_relaxed)) {}

Run* Run::current() { return thread_data().run; }

Run::~Run() {
  for (Entry& e : heap_) {
    if (e.node->run.load(std::memory_order_relaxed) == this) {
      Tensor unused(std::exchange(e.node->pending, nullptr));
      e.node->run.store(nullptr, std::memory_order_release);
    }
    drop(e.node);
  }
  for (const Edge& root : roots_) drop(root.node);
  for (Node* node : held_) drop(node);
}

// ---- feeding
// -------------------------------------------------------------------------------------------------------

void Run::add_root(Edge root, Tensor grad) {
  roots_.push_back(root);
  root.node->retain();
  pending_roots_.push_back({root, std::move(grad)});
}

void Run::add_input(Edge input) {
  pruned_ = true;
  input.node->retain();
  held_.push_back(input.node);
  inputs_[input.node].push_back({input.output, captured_.size()});
  captured_.emplace_back();
}

Tensor Run::sum(Tensor a, Tensor b) const {
  const auto n = static_cast<size_t>(api->tensor_ndim(b.get()));
  const bool in_place = !options_.create_graph && !options_.keep_mode && !in_transform() &&
                        solely_owned(a.get()) && api->tensor_is_contiguous(a.get()) &&
                        api->tensor_dtype(a.get()) == api->tensor_dtype(b.get()) &&
                        same_shape(a.get(), n, api->tensor_sizes(b.get()));
  if (!in_place) return autograd::sum(a, b);
  add_into(a.get(), b.get());
  return a;
}

void Run::push(Node* node) {
  node->retain();
  heap_.push_back({node->sequence, node});
  if (heap_.size() > 1) std::push_heap(heap_.begin(), heap_.end());
}

Node* Run::pop() {
  if (heap_.size() > 1) std::pop_heap(heap_.begin(), heap_.end());
  Node* node = heap_.back().node;
  heap_.pop_back();
  return node;
}

// The gradient of a node with one result lies in the node while this run owns it.
void Run::deliver_single(Node* node, Tensor grad) {
  Run* owner = node->run.load(std::memory_order_relaxed);
  if (owner == this) {
    node->pending = sum(Tensor(std::exchange(node->pending, nullptr)), std::move(grad)).take();
    return;
  }
  if (!buffers_.empty() && buffers_.count(node)) {
    Tensor& place = buffers_[node][0];
    place = sum(std::move(place), std::move(grad));
    return;
  }
  if (!owner && node->run.compare_exchange_strong(owner, this, std::memory_order_acquire)) {
    node->pending = grad.take();
  } else {
    buffers_[node].push_back(std::move(grad));
  }
  push(node);
}

void Run::deliver(Edge to, Tensor grad) {
  if (pruned_ && !needed(to.node)) return;
  if (grad) {
    if (to.node->n_outputs == 1) {
      deliver_single(to.node, std::move(grad));
    } else {
      auto [it, fresh] = buffers_.try_emplace(to.node);
      if (fresh) {
        it->second.resize(to.node->n_outputs);
        push(to.node);
      }
      Tensor& place = it->second[to.output];
      place = place ? sum(std::move(place), std::move(grad)) : std::move(grad);
    }
  }
  if (!leaf_counts_.empty() && to.node->is(Node::Leaf)) leaf_delivered(to.node);
}

// A leaf with hooks runs as soon as its last gradient is there.
void Run::leaf_delivered(Node* leaf) {
  auto it = leaf_counts_.find(leaf);
  if (it == leaf_counts_.end() || --it->second != 0) return;
  auto entry = std::find_if(heap_.begin(), heap_.end(), [&](const Entry& e) { return e.node == leaf; });
  if (entry == heap_.end()) return;
  heap_.erase(entry);
  std::make_heap(heap_.begin(), heap_.end());
  process(leaf);
}

Run::Buffer Run::take_gradients(Node* node) {
  Buffer grads;
  if (node->run.load(std::memory_order_relaxed) == this) {
    grads.emplace_back(std::exchange(node->pending, nullptr));
    node->run.store(nullptr, std::memory_order_release);
    return grads;
  }
  auto it = buffers_.find(node);
  grads = std::move(it->second);
  buffers_.erase(it);
  return grads;
}

// ---- running
// -------------------------------------------------------------------------------------------------------

namespace {
constexpr uint32_t kInlineEdges = 8;

// Room for one flag and one gradient an edge.
struct Frame {
  uint8_t inline_needs[kInlineEdges];
  TlTensor* inline_out[kInlineEdges];
  std::unique_ptr<uint8_t[]> more_needs;
  std::unique_ptr<TlTensor*[]> more_out;
  uint8_t* needs = inline_needs;
  TlTensor** out = inline_out;
  uint32_t n;

  explicit Frame(uint32_t n) : n(n) {
    if (n > kInlineEdges) {
      more_needs = std::make_unique<uint8_t[]>(n);
      more_out = std::make_unique<TlTensor*[]>(n);
      needs = more_needs.get();
      out = more_out.get();
    }
    for (uint32_t i = 0; i < n; ++i) out[i] = nullptr;
  }
  ~Frame() {
    for (uint32_t i = 0; i < n; ++i)
      if (out[i]) api->tensor_release(out[i]);
  }
};
}  // namespace

void Run::deliver_all(Node* node, TlTensor** out) {
  for (uint32_t i = 0; i < node->n_edges; ++i) {
    Tensor grad(std::exchange(out[i], nullptr));
    if (node->edges[i].node) deliver(node->edges[i], std::move(grad));
  }
}

void Run::evaluate(Node* node, TlTensor* const* grads) {
  Frame frame(node->n_edges);
  for (uint32_t i = 0; i < node->n_edges; ++i)
    frame.needs[i] = node->edges[i].node && needed(node->edges[i].node);
  {
    const NodeEvent event(recorded_, TL_EVENT_NODE, *node, grads, node->n_outputs);
    apply_node(*node, {grads, node->n_outputs, frame.needs, options_.create_graph}, frame.out);
  }
  if (!options_.retain_graph) node->release();
  deliver_all(node, frame.out);
}

bool Run::expands(const Node* node) const {
  if (!pruned_) return true;
  auto it = needed_.find(node);
  return it != needed_.end() && it->second;
}

void Run::capture(Node* node, const Buffer& grads) {
  auto it = inputs_.find(node);
  if (it == inputs_.end()) return;
  for (auto [output, place] : it->second) captured_[place] = grads[output];
}

// The slow path: hooks, retained and captured gradients.
void Run::run_with_extra(Node* node, Buffer& grads) {
  if (node->extra) run_pre_hooks(node, grads);
  if (!options_.accumulate) capture(node, grads);
  const bool is_leaf = node->is(Node::Leaf);
  if (!expands(node) && !(is_leaf && options_.accumulate)) return;
  if (is_leaf && !options_.accumulate) return;
  std::vector<TlTensor*> given;
  for (const Tensor& g : grads) given.push_back(g.get());
  Frame frame(node->n_edges);
  for (uint32_t i = 0; i < node->n_edges; ++i)
    frame.needs[i] = node->edges[i].node && needed(node->edges[i].node);
  {
    const NodeEvent event(recorded_, TL_EVENT_NODE, *node, given.data(), node->n_outputs);
    apply_node(*node, {given.data(), node->n_outputs, frame.needs, options_.create_graph}, frame.out);
  }
  if (!options_.retain_graph) node->release();
  if (node->extra) run_post_hooks(node, frame.out, grads);
  if (is_leaf && node->extra) run_accumulated_hooks(node);
  deliver_all(node, frame.out);
}

void Run::process(Node* node) {
  struct Dropped {
    Node* node;
    ~Dropped() { drop(node); }
  } dropped{node};
  const NodeEvent event(recorded_, TL_EVENT_EVALUATION, *node);
  if (!node->extra && !pruned_ && node->run.load(std::memory_order_relaxed) == this) {
    Tensor grad(std::exchange(node->pending, nullptr));
    node->run.store(nullptr, std::memory_order_release);
    if (node->is(Node::Leaf)) return accumulate(static_cast<Leaf*>(node), std::move(grad));
    TlTensor* given = grad.get();
    return evaluate(node, &given);
  }
  Buffer grads = take_gradients(node);
  run_with_extra(node, grads);
}

void Run::accumulate(Node* leaf, Tensor grad) {
  TlTensor* given = grad.get();
  const NodeEvent event(recorded_, TL_EVENT_NODE, *leaf, &given, 1);
  leaf->apply({&given, 1, nullptr, options_.create_graph}, nullptr);
}

namespace {
// Gradients have no names of dimensions: the core's layer of names is the last one, and off inside.
class NamesOff {
 public:
  NamesOff() : before_((api->thread_excluded() & kBit) != 0) { api->thread_exclude(kBit, 1); }
  ~NamesOff() { api->thread_exclude(kBit, before_); }
  NamesOff(const NamesOff&) = delete;
  NamesOff& operator=(const NamesOff&) = delete;

 private:
  static constexpr uint64_t kBit = uint64_t{1} << (TL_LAYER_COUNT - 1);
  bool before_;
};
}  // namespace

void Run::execute() {
  const NamesOff names_off;
  prepare_needs();
  struct Current {
    Run* outer;
    explicit Current(Run* run) : outer(std::exchange(thread_data().run, run)) {}
    ~Current() { thread_data().run = outer; }
  } current(this);
  recorded_ = (api->thread_included() & (uint64_t{1} << TL_LAYER_OBSERVE)) != 0;
  GradMode mode(options_.keep_mode ? api->grad_enabled() != 0 : options_.create_graph);
  for (auto& [root, grad] : pending_roots_) deliver(root, std::move(grad));
  for (uint32_t count = 1; !heap_.empty(); ++count) {
    if (count % 1024 == 0 && api->interrupted()) throw Pending();
    process(pop());
  }
}

// ---- what is needed
// ------------------------------------------------------------------------------------------------

void Run::prepare_needs() {
  if (pruned_) find_needed();
  if (g_hooked_leaves.load(std::memory_order_relaxed) > 0) count_leaves();
}

// Depth first without recursion: a node is needed if it is an input or leads to a needed node.
void Run::find_needed() {
  struct Visit {
    const Node* node;
    uint32_t next;
  };
  std::unordered_map<const Node*, bool> behind;  // some input lies behind
  std::vector<Visit> stack;
  auto enter = [&](const Node* node) {
    if (behind.try_emplace(node, false).second) stack.push_back({node, 0});
  };
  for (const Edge& root : roots_) {
    enter(root.node);
    while (!stack.empty()) {
      Visit& v = stack.back();
      const Node* node = v.node;
      if (v.next < node->n_edges) {
        if (const Node* to = node->edges[v.next++].node) enter(to);
        continue;
      }
      stack.pop_back();
      bool any = false;
      for (uint32_t i = 0; i < node->n_edges; ++i)
        if (const Node* to = node->edges[i].node) any |= inputs_.count(to) || behind[to];
      behind[node] = any;
    }
  }
  for (auto [node, any] : behind)
    if (any || inputs_.count(node)) needed_[node] = any;
}

void Run::count_leaves() {
  std::unordered_map<const Node*, bool> seen;
  std::vector<const Node*> stack;
  auto enter = [&](const Node* node) {
    if (node->is(Node::Leaf)) {
      if (node->extra) ++leaf_counts_[node];
    } else if (needed(node) && seen.try_emplace(node, true).second) {
      stack.push_back(node);
    }
  };
  for (const Edge& root : roots_) enter(root.node);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (uint32_t i = 0; i < node->n_edges; ++i)
      if (node->edges[i].node) enter(node->edges[i].node);
  }
}

bool Run::will_run(const Node* node) {
  if (pruned_) return needed(node);
  if (reached_.empty()) {
    std::vector<const Node*> stack;
    auto enter = [&](const Node* to) {
      if (to && reached_.insert(to).second) stack.push_back(to);
    };
    for (const Edge& root : roots_) enter(root.node);
    while (!stack.empty()) {
      const Node* from = stack.back();
      stack.pop_back();
      for (uint32_t i = 0; i < from->n_edges; ++i) enter(from->edges[i].node);
    }
  }
  return reached_.count(node);
}

}  // namespace tl::autograd

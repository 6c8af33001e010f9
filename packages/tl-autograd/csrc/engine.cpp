// The backward engine: counts what each node waits for, runs ready nodes from a heap, newest first, adds up.
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

namespace {
std::atomic<int64_t> g_runs{0};
}

Run::Run(RunOptions options) : options_(options), number_(g_runs.fetch_add(1, std::memory_order_relaxed)) {
  constexpr size_t kSmallGraph = 64;
  reached_.reserve(kSmallGraph);
  ready_.reserve(kSmallGraph / 4);
}

Run* Run::current() { return thread_data().run; }

Run::~Run() {
  for (size_t i = 0; claimed_ > 0; ++i)
    if (owns(reached_[i])) give_back(reached_[i]);
  for (auto& [root, grad] : roots_) drop(root.node);
  for (Node* node : held_) drop(node);
}

// ---- feeding ----------------------------------------------------------------------------------------------

void Run::add_root(Edge root, Tensor grad) {
  root.node->retain();
  roots_.push_back({root, std::move(grad)});
}

void Run::add_input(Edge input) {
  pruned_ = true;
  input.node->retain();
  held_.push_back(input.node);
  inputs_[input.node].push_back({input.output, captured_.size()});
  captured_.emplace_back();
}

// ---- what is reached --------------------------------------------------------------------------------------

// At first sight a node is claimed; where another run came first, a table is used.
Progress& Run::reach_first(Node* node) {
  const bool known = !foreign_.empty() && foreign_.count(node);
  Run* nobody = nullptr;
  if (!known && node->run.compare_exchange_strong(nobody, this, std::memory_order_acquire)) {
    node->progress = {};
    reached_.push_back(node);
    ++claimed_;
    return node->progress;
  }
  auto [it, fresh] = foreign_.try_emplace(node);
  if (fresh) reached_.push_back(node);
  return it->second;
}

[[gnu::noinline]] Progress& Run::foreign(Node* node) { return foreign_.find(node)->second; }

void Run::give_back(Node* node) {
  Tensor unused(std::exchange(node->pending, nullptr));
  node->run.store(nullptr, std::memory_order_release);
  --claimed_;
}

// Counts the deliveries that each node waits for.
void Run::claim_reached() {
  for (auto& [root, grad] : roots_) ++reach(root.node).waiting;
  for (size_t i = 0; i < reached_.size(); ++i) {
    const Node* node = reached_[i];
    for (uint32_t k = 0; k < node->n_edges; ++k)
      if (Node* to = node->edges[k].node) ++reach(to).waiting;
  }
}

// The same where only the gradients of some inputs are wanted: a node is needed if it is one of them or leads
// to one. Depth first without recursion, since a node is judged after those that its edges lead to.
void Run::find_needed() {
  struct Visit {
    Node* node;
    uint32_t next;
  };
  std::vector<Visit> stack;
  std::vector<Node*> judged;
  auto enter = [&](Node* node) {
    Progress& p = reach(node);
    if (p.has(Progress::Visited)) return;
    p.flags |= Progress::Visited;
    stack.push_back({node, 0});
  };
  auto judge = [&](Node* node) {
    uint8_t found = progress(node).has(Progress::IsInput) ? Progress::Needed : 0;
    for (uint32_t i = 0; i < node->n_edges; ++i)
      if (Node* to = node->edges[i].node; to && needed(to))
        found |= Progress::Needed | Progress::LeadsToInput;
    progress(node).flags |= found;
    judged.push_back(node);
  };
  for (Node* input : held_) reach(input).flags |= Progress::IsInput;
  for (auto& [root, grad] : roots_) {
    enter(root.node);
    while (!stack.empty()) {
      Visit& v = stack.back();
      if (v.next < v.node->n_edges) {
        if (Node* to = v.node->edges[v.next++].node) enter(to);
        continue;
      }
      judge(v.node);
      stack.pop_back();
    }
    ++progress(root.node).waiting;
  }
  for (Node* node : judged)
    for (uint32_t i = 0; i < node->n_edges; ++i)
      if (Node* to = node->edges[i].node) progress(to).waiting += expands(node);
}

bool Run::will_run(Node* node) {
  if (pruned_) return (owns(node) || foreign_.count(node)) && needed(node);
  if (will_run_.empty()) will_run_.insert(reached_.begin(), reached_.end());
  return will_run_.count(node);
}

// ---- gradients on their way -------------------------------------------------------------------------------

Tensor Run::sum(Tensor a, Tensor b) const {
  // Two tensors of a class may differ in what `add` reconciles and a write can't, such as their placements.
  constexpr uint64_t kPythonBit = uint64_t{1} << TL_LAYER_PYTHON;
  const auto n = static_cast<size_t>(api->tensor_ndim(b.get()));
  const bool in_place = !options_.create_graph && !options_.keep_mode && !in_transform() &&
                        !((api->bits_get(a.get()) | api->bits_get(b.get())) & kPythonBit) &&
                        solely_owned(a.get()) && api->tensor_is_contiguous(a.get()) &&
                        api->tensor_dtype(a.get()) == api->tensor_dtype(b.get()) &&
                        same_shape(a.get(), n, api->tensor_sizes(b.get()));
  if (!in_place) return autograd::sum(a, b);
  add_into(a.get(), b.get());
  return a;
}

void Run::push(Node* node) {
  ready_.push_back({node->sequence, node});
  if (ready_.size() > 1) std::push_heap(ready_.begin(), ready_.end());
}

Node* Run::pop() {
  if (ready_.size() > 1) std::pop_heap(ready_.begin(), ready_.end());
  Node* node = ready_.back().node;
  ready_.pop_back();
  return node;
}

// The gradient of a node with one result lies in the node while this run owns it.
void Run::put(Edge to, Tensor grad) {
  Node* node = to.node;
  if (node->n_outputs == 1 && owns(node)) {
    if (node->pending) grad = sum(Tensor(std::exchange(node->pending, nullptr)), std::move(grad));
    node->pending = grad.take();
    return;
  }
  Buffer& buffer = buffers_[node];
  if (buffer.empty()) buffer.resize(node->n_outputs);
  Tensor& slot = buffer[to.output];
  slot = slot ? sum(std::move(slot), std::move(grad)) : std::move(grad);
}

void Run::deliver(Edge to, Tensor grad) {
  if (!needed(to.node)) return;
  if (grad) put(to, std::move(grad));
  if (--progress(to.node).waiting == 0) push(to.node);
}

Run::Buffer Run::take_gradients(Node* node) {
  Buffer grads;
  if (node->n_outputs == 1 && owns(node))
    grads.emplace_back(std::exchange(node->pending, nullptr));
  else if (auto held = buffers_.extract(node))
    grads = std::move(held.mapped());
  grads.resize(node->n_outputs);
  return grads;
}

// ---- running ----------------------------------------------------------------------------------------------

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

// Runs the node and passes on what it makes; `for_hooks` are the same gradients where hooks may want them.
void Run::evaluate(Node* node, TlTensor* const* grads, const Buffer* for_hooks) {
  Frame frame(node->n_edges);
  for (uint32_t i = 0; i < node->n_edges; ++i)
    frame.needs[i] = node->edges[i].node && needed(node->edges[i].node);
  const bool hooked = node->extra && node->extra->post_hooks;
  if (node->is(Node::HoldsPending)) [[unlikely]]
    region_->enter();
  {
    const NodeEvent event(recorded_, TL_EVENT_NODE, *node, grads, node->n_outputs);
    apply_node(*node, {grads, node->n_outputs, frame.needs, options_.create_graph, !options_.retain_graph},
               frame.out);
  }
  if (for_hooks && node->extra && node->is(Node::Leaf)) run_accumulated_hooks(node);
  if (hooked)
    run_post_hooks(node, frame.out, *for_hooks);
  else if (node->extra && node->extra->post_hooks)  // they came while it ran: its gradients may be gone
    run_post_hooks(node, frame.out, Buffer(node->n_outputs));
  for (uint32_t i = 0; i < node->n_edges; ++i) {
    Tensor grad(std::exchange(frame.out[i], nullptr));
    if (node->edges[i].node) deliver(node->edges[i], std::move(grad));
  }
}

void Run::capture(Node* node, const Buffer& grads) {
  auto it = inputs_.find(node);
  if (it == inputs_.end()) return;
  for (auto [output, slot] : it->second) captured_[slot] = grads[output];
}

// Several results, hooks, retained and captured gradients.
void Run::process_slowly(Node* node) {
  Buffer grads = take_gradients(node);
  finish(node);
  if (node->extra) run_tensor_hooks(node, grads);
  if (!options_.accumulate) capture(node, grads);
  if (node->extra && (options_.accumulate || expands(node))) run_pre_hooks(node, grads);
  if (!(node->is(Node::Leaf) ? options_.accumulate : expands(node))) return;
  std::vector<TlTensor*> given;
  for (const Tensor& g : grads) given.push_back(g.get());
  evaluate(node, given.data(), &grads);
}

// Another run may have the node, unless one wants to know later whether it was needed.
void Run::finish(Node* node) {
  if (!pruned_ && owns(node)) give_back(node);
}

void Run::process(Node* node) {
  current_ = node;
  const NodeEvent event(recorded_, TL_EVENT_EVALUATION, *node);
  if (node->extra || node->n_outputs != 1 || !owns(node) || is_input(node)) return process_slowly(node);
  Tensor grad(std::exchange(node->pending, nullptr));
  finish(node);
  if (node->is(Node::Leaf)) return accumulate(node, std::move(grad));
  TlTensor* given = grad.get();
  evaluate(node, &given, nullptr);
}

void Run::accumulate(Node* leaf, Tensor grad) {
  TlTensor* given = grad.get();
  const NodeEvent event(recorded_, TL_EVENT_NODE, *leaf, &given, 1);
  leaf->apply({&given, 1, nullptr, options_.create_graph, false}, nullptr);
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
  static constexpr uint64_t kBit = uint64_t{1} << TL_LAYER_NAMES;
  bool before_;
};
}  // namespace

void Run::execute() {
  const NamesOff names_off;
  BackwardRegion region;
  region_ = &region;
  pruned_ ? find_needed() : claim_reached();
  struct Current {
    Run* outer;
    explicit Current(Run* run) : outer(std::exchange(thread_data().run, run)) {}
    ~Current() { thread_data().run = outer; }
  } current(this);
  recorded_ = (api->thread_included() & (uint64_t{1} << TL_LAYER_OBSERVE)) != 0;
  GradMode mode(options_.keep_mode ? api->grad_enabled() != 0 : options_.create_graph);
  for (auto& [root, grad] : roots_) deliver(root, std::move(grad));
  for (uint32_t count = 1; !ready_.empty(); ++count) {
    if (count % 1024 == 0 && api->interrupted()) throw Pending();
    process(pop());
  }
  region.leave();
}

}  // namespace tl::autograd

// The backward: gradients flow from roots to leaves. A node runs when all that use its results have
// delivered; of those that are ready the newest does, and leaves before all others.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "node.h"
#include "regions.h"

namespace tl::autograd {

struct RunOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool accumulate = true;  // into leaves; otherwise only the gradients of `inputs` are computed
  bool keep_mode = false;  // leave gradient recording as it is, and change nothing in place
};

// One backward. Made, fed and run on one thread; the GIL is given up while it runs and taken for Python
// hooks.
class Run {
 public:
  explicit Run(RunOptions options);
  ~Run();
  Run(const Run&) = delete;

  void add_root(Edge root, Tensor grad);
  // Only what leads to these edges is computed. Their gradients are kept, unless they accumulate.
  void add_input(Edge input);
  void execute();  // without the GIL
  const std::vector<Tensor>& captured() const { return captured_; }
  int64_t number() const { return number_; }
  bool will_run(Node* node);
  bool fills_leaves() const { return options_.accumulate && !pruned_; }  // backward() without inputs
  bool captures(const Node* node) const { return !options_.accumulate && inputs_.count(node); }
  bool keeps_graph() const { return options_.retain_graph; }
  Node* current_node() const { return current_; }
  static Run* current();         // of this thread
  std::vector<void*> callbacks;  // what Python calls when it is done: references that the binding owns

 private:
  struct Entry {
    uint64_t sequence;
    Node* node;  // alive, as the roots are
    bool operator<(const Entry& o) const { return sequence < o.sequence; }
  };
  using Buffer = std::vector<Tensor>;

  void claim_reached();
  void find_needed();
  Progress& reach(Node* node) { return owns(node) ? node->progress : reach_first(node); }
  Progress& reach_first(Node* node);
  Progress& foreign(Node* node);
  bool owns(const Node* node) const { return node->run.load(std::memory_order_relaxed) == this; }
  Progress& progress(Node* node) { return owns(node) ? node->progress : foreign(node); }
  bool needed(Node* node) { return !pruned_ || progress(node).has(Progress::Needed); }
  bool is_input(Node* node) { return pruned_ && progress(node).has(Progress::IsInput); }
  bool expands(Node* node) { return !pruned_ || progress(node).has(Progress::LeadsToInput); }
  void give_back(Node* node);
  void finish(Node* node);

  void deliver(Edge to, Tensor grad);
  void put(Edge to, Tensor grad);
  void push(Node* node);
  Node* pop();
  Tensor sum(Tensor a, Tensor b) const;
  Buffer take_gradients(Node* node);
  void evaluate(Node* node, TlTensor* const* grads, const Buffer* for_hooks);
  void process(Node* node);
  void process_slowly(Node* node);
  void capture(Node* node, const Buffer& grads);
  void accumulate(Node* leaf, Tensor grad);

  RunOptions options_;
  std::vector<Entry> ready_;  // a heap
  std::vector<std::pair<Edge, Tensor>> roots_;
  std::vector<Node*> held_;                                                           // owned
  std::unordered_map<const Node*, std::vector<std::pair<uint32_t, size_t>>> inputs_;  // output, place
  std::vector<Node*> reached_;
  size_t claimed_ = 0;                           // of them, the ones that are this run's
  std::unordered_map<Node*, Progress> foreign_;  // of those that another run had claimed
  std::unordered_map<Node*, Buffer> buffers_;    // where a node has no room for its gradients
  std::vector<Tensor> captured_;
  Node* current_ = nullptr;                   // that runs
  std::unordered_set<const Node*> will_run_;  // made when somebody asks
  bool pruned_ = false;
  BackwardRegion* region_ = nullptr;
  bool recorded_ = false;  // the nodes are events of a recording
  int64_t number_;
};

// Python side of a node's extras: each returns with the gradients replaced. They take the GIL.
void run_tensor_hooks(Node* node, std::vector<Tensor>& grads);  // and keeps what is retained
void run_pre_hooks(Node* node, std::vector<Tensor>& grads);
void run_post_hooks(Node* node, TlTensor** out, const std::vector<Tensor>& grads);
void run_accumulated_hooks(Node* leaf);

}  // namespace tl::autograd

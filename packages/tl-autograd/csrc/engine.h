// The backward: gradients flow from roots to leaves, the newest node first.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "node.h"

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
  bool will_run(const Node* node);
  bool fills_leaves() const { return options_.accumulate && !pruned_; }  // backward() without inputs
  static Run* current();                                                 // of this thread
  std::vector<void*> callbacks;  // what Python calls when it is done: references that the binding owns

 private:
  struct Entry {
    uint64_t sequence;
    Node* node;  // owned
    bool operator<(const Entry& o) const {
      return sequence != o.sequence ? sequence < o.sequence : std::less<Node*>()(node, o.node);
    }
  };
  using Buffer = std::vector<Tensor>;

  void deliver(Edge to, Tensor grad);
  void deliver_single(Node* node, Tensor grad);
  void push(Node* node);
  Node* pop();
  Tensor sum(Tensor a, Tensor b) const;
  Buffer take_gradients(Node* node);
  void evaluate(Node* node, TlTensor* const* grads);
  void process(Node* node);
  void run_with_extra(Node* node, Buffer& grads);
  void capture(Node* node, const Buffer& grads);
  void deliver_all(Node* node, TlTensor** out);
  void prepare_needs();
  void find_needed();
  void count_leaves();
  bool needed(const Node* node) const { return !pruned_ || needed_.count(node); }
  bool expands(const Node* node) const;
  void leaf_delivered(Node* leaf);
  void accumulate(Node* leaf, Tensor grad);

  RunOptions options_;
  std::vector<Entry> heap_;
  std::vector<Edge> roots_;
  std::vector<std::pair<Edge, Tensor>> pending_roots_;
  std::vector<Node*> held_;  // owned
  std::unordered_map<Node*, Buffer> buffers_;
  std::unordered_map<const Node*, bool> needed_;  // -> some input lies behind it
  std::unordered_map<const Node*, std::vector<std::pair<uint32_t, size_t>>> inputs_;
  std::unordered_map<const Node*, uint32_t> leaf_counts_;  // gradients that leaves with hooks still wait for
  std::vector<Tensor> captured_;
  std::unordered_set<const Node*> reached_;  // from the roots; found when somebody asks
  bool pruned_ = false;
  bool recorded_ = false;  // the nodes are events of a recording
  int64_t number_;
};

// Number of leaves with hooks in the process: while it is zero no run counts their gradients.
extern std::atomic<int64_t> g_hooked_leaves;

// Python side of a node's extras: each returns with the gradients replaced. They take the GIL.
void run_pre_hooks(Node* node, std::vector<Tensor>& grads);
void run_post_hooks(Node* node, TlTensor** out, const std::vector<Tensor>& grads);
void run_accumulated_hooks(Node* leaf);

}  // namespace tl::autograd

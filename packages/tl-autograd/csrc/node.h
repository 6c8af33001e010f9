// A node of the graph: what a recorded operator needs to turn gradients of its results into gradients of its
// inputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core.h"

namespace tl::autograd {

class Node;
class Run;
struct Extra;       // extra.h: hooks and what else only some nodes have
struct ThreadData;  // thread.h

// Where a gradient goes: to the gradient of result `output` of `node`. The node is owned by whoever holds the
// edge.
struct Edge {
  Node* node = nullptr;
  uint32_t output = 0;
};

// What a node is given: gradients of its results, borrowed, NULL where undefined; and which edges are wanted.
struct GradientsIn {
  TlTensor* const* grads;
  uint32_t count;
  const uint8_t* needs;  // one an edge
  bool create_graph;
  bool last;  // nobody runs the node again: it frees what it saved
};

// What one backward notes of a node that it reaches.
struct Progress {
  enum Flag : uint8_t { Visited = 1, IsInput = 2, Needed = 4, LeadsToInput = 8 };

  uint32_t waiting = 0;  // deliveries that have not come yet
  uint8_t flags = 0;     // only where some inputs are asked for
  bool has(Flag f) const { return flags & f; }
};

class Node {
 public:
  static constexpr int kFrames = 4;
  enum Flag : uint8_t { Leaf = 1, Released = 2, HoldsPacked = 4, HoldsPending = 8, Noted = 16 };

  std::atomic<uint32_t> refs{1};
  uint32_t n_outputs;
  uint32_t n_edges;
  std::atomic<uint8_t> flags{0};           // several threads may run one node
  Progress progress;                       // of the backward `run`
  uint64_t sequence;                       // of the nodes that are ready the one with the greatest runs first
  std::atomic<Run*> run{nullptr};          // the backward that claimed the node
  TlTensor* pending = nullptr;             // owned: what has come of the gradient of a single result
  std::atomic<ThreadData*> busy{nullptr};  // the thread that reads or frees what the node saved
  Extra* extra = nullptr;
  const void* base_slot = nullptr;  // of a view's node: the slot that the view's base had
  Edge* edges;

  bool is(Flag f) const { return flags.load(std::memory_order_relaxed) & f; }
  void set(Flag f) {
    if (!is(f)) flags.fetch_or(f, std::memory_order_relaxed);
  }
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }

  // Writes an owned gradient, or NULL, for each wanted edge; `out` starts as NULLs.
  virtual void apply(const GradientsIn& in, TlTensor** out) = 0;
  virtual void release() {}  // frees what was saved for the backward
  virtual std::string name() const = 0;
  virtual const TlOperator* op() const { return nullptr; }
  // What the node keeps of its own result, which a level of tangents gives one after the call; NULL: nothing.
  virtual TlValue* saved_result(uint32_t) { return nullptr; }
  virtual const void* const* frames() const { return nullptr; }  // kFrames of them: where it was made
  virtual const void* base_slot_of(uint32_t) const { return base_slot; }  // of the view that is this output
  virtual void* python() const { return nullptr; }  // a Python object that the node owns
  virtual void drop_python() {}

  Node(const Node&) = delete;

 protected:
  Node(uint32_t n_outputs, uint32_t n_edges, Edge* edges)
      : n_outputs(n_outputs), n_edges(n_edges), edges(edges) {}
  virtual ~Node() = default;
  virtual void dispose() = 0;  // runs the destructor and frees the memory

 private:
  friend void drop(Node* node);
  friend void drain_dead();
  Node* next_dead_ = nullptr;
};

void drop(Node* node);  // gives one reference back; tears down without recursion
inline void drop(Edge& e) {
  if (e.node) drop(std::exchange(e.node, nullptr));
}

uint64_t next_sequence();  // the number of this thread's next node

// A node whose memory is an object of its own.
template <class Derived>
class HeapNode : public Node {
 protected:
  HeapNode(uint32_t n_outputs, uint32_t n_edges)
      : Node(n_outputs, n_edges, nullptr), storage_(new Edge[n_edges]()) {
    edges = storage_.get();
  }
  void dispose() override { delete static_cast<Derived*>(this); }

 private:
  std::unique_ptr<Edge[]> storage_;
};

// Holds the right to read or free what a node saved, against other threads; a thread may take it twice.
class NodeLock {
 public:
  enum Attempt { Try };

  explicit NodeLock(Node& node);
  NodeLock(Node& node, Attempt);  // does not wait for another thread
  ~NodeLock() {
    if (taken_) node_.busy.store(nullptr, std::memory_order_release);
  }
  NodeLock(const NodeLock&) = delete;
  bool holds() const;  // whether this thread has the right

 private:
  Node& node_;
  bool taken_;
};

// ---- the tensor's slot ------------------------------------------------------------------------------------
// One pointer: the node with the number of the output in its low bits, or for numbers from 15 on a FarSlot.
void* make_slot(Node* node, uint32_t output);  // takes over one reference
Edge read_slot(const void* slot);              // borrowed

// Makes `t` output `output` of `node`: takes over one reference.
void set_slot(TlTensor* t, Node* node, uint32_t output);
void clear_slot(TlTensor* t);
void set_slot_traversal(int (*traverse)(void*, TlVisit, void*), void (*clear)(void*));

}  // namespace tl::autograd

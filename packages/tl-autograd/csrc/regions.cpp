// Noted nodes lie in one table of the process: a node may end on another thread than its own.
#include "regions.h"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "recorder.h"

namespace tl::autograd {

namespace {
TlRegionCalls g_calls{};

struct Table {
  std::mutex mutex;
  std::unordered_map<const ProgramNode*, const ThreadData*> nodes;
};
Table& table() {
  static auto* table = new Table;  // nodes may end after static destructors
  return *table;
}

// Calls f with each tensor that a saved value consists of.
template <class F>
void each_tensor(const TlValue& v, F f) {
  if (v.tag == TL_TENSOR) f(v.u.t);
  if (v.tag != kList) return;
  for (const TlValue& element : list_of(v)) each_tensor(element, f);
}
template <class F>
void each_tensor(const ProgramNode& node, F f) {
  const TlProgram& p = node.recorder.derivative->program;
  for (int i = 0; i < p.n_saved; ++i)
    if (p.saved[i].meta == TL_META_VALUE) each_tensor(node.saved[i], f);
}

constexpr uint64_t kDeferBit = uint64_t{1} << TL_LAYER_DEFER;

void install(const TlRegionCalls* calls) { g_calls = *calls; }

void forget_nodes_of(const ThreadData& thread) {
  std::erase_if(table().nodes, [&](const auto& entry) { return entry.second == &thread; });
}

void set_notes_nodes(int on) {
  ThreadData& thread = thread_data();
  thread.notes_nodes = on;
  if (on) return;
  std::lock_guard lock(table().mutex);
  forget_nodes_of(thread);
}

// A node cannot end while the table is locked: its end takes the lock first.
void take_saved(void (*visit)(void* user, TlTensor* t), void* user) {
  const ThreadData& thread = thread_data();
  std::lock_guard lock(table().mutex);
  for (const auto& [node, owner] : table().nodes) {
    if (owner != &thread) continue;
    auto& used = const_cast<ProgramNode&>(*node);
    const NodeLock free_for(used, NodeLock::Try);
    if (free_for.holds()) each_tensor(*node, [&](TlTensor* t) { visit(user, t); });
  }
  forget_nodes_of(thread);
}
}  // namespace

const TlRegions* regions_table() {
  static const TlRegions functions{sizeof(TlRegions), TL_API_MAJOR,    TL_API_MINOR,
                                   install,           set_notes_nodes, take_saved};
  return &functions;
}

void note_saved(ProgramNode& node) {
  bool waits = false, awaited = false;
  each_tensor(node, [&](TlTensor* t) {
    awaited = awaited || api->storage_bits_get(t) & kDeferBit;
    waits = waits || api->tensor_pending_ctx(t);
  });
  if (waits) node.set(Node::HoldsPending);
  if (!awaited) return;
  std::lock_guard lock(table().mutex);
  table().nodes.emplace(&node, &thread_data());
  node.set(Node::Noted);
}

void forget_noted(const ProgramNode& node) {
  std::lock_guard lock(table().mutex);
  table().nodes.erase(&node);
}

void BackwardRegion::enter() {
  if (entered_ || !g_calls.enter) return;
  g_calls.enter();
  entered_ = true;
}

void BackwardRegion::leave() {
  if (!std::exchange(entered_, false)) return;
  if (g_calls.leave(0) != 0) throw Pending();
}

BackwardRegion::~BackwardRegion() {
  if (entered_) g_calls.leave(1);
}

}  // namespace tl::autograd

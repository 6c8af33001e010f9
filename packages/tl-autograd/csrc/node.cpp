// Graph nodes: counted references, release by a list of dead nodes instead of recursion, the tensor's slot.
#include "node.h"

#include <thread>

#include "extra.h"
#include "thread.h"

namespace tl::autograd {

// ---- lifetime ---------------------------------------------------------------------------------------------

void drain_dead() {
  ThreadData& t = thread_data();
  if (t.draining) return;
  t.draining = true;
  while (Node* node = t.dead) {
    t.dead = node->next_dead_;
    for (uint32_t i = 0; i < node->n_edges; ++i) drop(node->edges[i]);
    if (node->extra) delete std::exchange(node->extra, nullptr);
    node->dispose();
  }
  t.draining = false;
}

void drop(Node* node) {
  // A sole owner needs no atomic read-modify-write.
  if (node->refs.load(std::memory_order_acquire) != 1 &&
      node->refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  ThreadData& t = thread_data();
  node->next_dead_ = t.dead;
  t.dead = node;
  drain_dead();
}

uint64_t next_sequence() { return thread_data().sequence++; }

NodeLock::NodeLock(Node& node) : node_(node), taken_(true) {
  ThreadData* self = &thread_data();
  ThreadData* expected = nullptr;
  while (!node.busy.compare_exchange_weak(expected, self, std::memory_order_acquire)) {
    if (expected == self) {
      taken_ = false;
      return;
    }
    expected = nullptr;
    std::this_thread::yield();
  }
}

NodeLock::NodeLock(Node& node, Attempt) : node_(node) {
  ThreadData* nobody = nullptr;
  taken_ = node.busy.compare_exchange_strong(nobody, &thread_data(), std::memory_order_acquire);
}

bool NodeLock::holds() const { return node_.busy.load(std::memory_order_relaxed) == &thread_data(); }

// ---- slots ------------------------------------------------------------------------------------------------

namespace {
constexpr uintptr_t kOutputMask = 15, kFar = 15;
struct alignas(16) FarSlot {
  Edge edge;
};

void destroy_slot(void* slot) {
  const auto bits = reinterpret_cast<uintptr_t>(slot);
  Edge e = read_slot(slot);
  if ((bits & kOutputMask) == kFar) delete reinterpret_cast<FarSlot*>(bits & ~kOutputMask);
  drop(e);
}

TlSlotType g_slot_type = {sizeof(TlSlotType), destroy_slot, nullptr, nullptr};
}  // namespace

void set_slot_traversal(int (*traverse)(void*, TlVisit, void*), void (*clear)(void*)) {
  g_slot_type.traverse = traverse;
  g_slot_type.clear = clear;
}

void* make_slot(Node* node, uint32_t output) {
  if (output < kFar) return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(node) | output);
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(new FarSlot{{node, output}}) | kFar);
}

Edge read_slot(const void* slot) {
  const auto bits = reinterpret_cast<uintptr_t>(slot);
  const uintptr_t output = bits & kOutputMask, pointer = bits & ~kOutputMask;
  if (output == kFar) return reinterpret_cast<const FarSlot*>(pointer)->edge;
  return {reinterpret_cast<Node*>(pointer), static_cast<uint32_t>(output)};
}

void set_slot(TlTensor* t, Node* node, uint32_t output) {
  check(api->slot_set(t, TL_LAYER_AUTOGRAD, make_slot(node, output), &g_slot_type));
  api->bits_set(t, kAutogradBit, 1);
}

void clear_slot(TlTensor* t) {
  check(api->slot_set(t, TL_LAYER_AUTOGRAD, nullptr, &g_slot_type));
  api->bits_set(t, kAutogradBit, 0);
}

}  // namespace tl::autograd

#include "tensor/slots.h"

#include <atomic>
#include <utility>

namespace tl {

namespace {
// Every tensor with an autograd slot has the same type of slot: the layer that owns it is installed once.
std::atomic<const TlSlotType*> g_autograd_type{nullptr};

const TlSlotType* autograd_type() { return g_autograd_type.load(std::memory_order_relaxed); }

SlotTable::Entry detach(TensorImpl& t, int layer) {
  if (layer == TL_LAYER_AUTOGRAD) return {std::exchange(t.autograd, nullptr), autograd_type()};
  if (!t.slots) return {};
  return std::exchange(t.slots->entries[layer], {});
}

void destroy(SlotTable::Entry entry) {
  if (entry.data && entry.type && entry.type->destroy) entry.type->destroy(entry.data);
}

template <class F>
void each(const TensorImpl& t, F f) {
  if (t.autograd && autograd_type()) f(t.autograd, *autograd_type());
  if (!t.slots) return;
  for (auto& e : t.slots->entries)
    if (e.data && e.type) f(e.data, *e.type);
}
}  // namespace

void* get_slot(const TensorImpl& t, int layer) {
  if (layer == TL_LAYER_AUTOGRAD) return t.autograd;
  return t.slots ? t.slots->entries[layer].data : nullptr;
}

void set_slot(TensorImpl& t, int layer, void* data, const TlSlotType* type) {
  SlotTable::Entry old = detach(t, layer);
  if (layer == TL_LAYER_AUTOGRAD) {
    if (type) g_autograd_type.store(type, std::memory_order_relaxed);
    t.autograd = data;
  } else if (data) {
    if (!t.slots) t.slots = new SlotTable;
    t.slots->entries[layer] = {data, type};
  }
  destroy(old);
}

void* take_slot(TensorImpl& t, int layer) { return detach(t, layer).data; }

void clear_slots(TensorImpl& t) {
  if (t.autograd) destroy(detach(t, TL_LAYER_AUTOGRAD));
  if (!t.slots) return;
  for (int layer = 0; layer < TL_LAYER_COUNT; ++layer) destroy(detach(t, layer));
  delete std::exchange(t.slots, nullptr);
}

int traverse_slots(const TensorImpl& t, TlVisit visit, void* arg) {
  int status = 0;
  each(t, [&](void* data, const TlSlotType& type) {
    if (!status && type.traverse) status = type.traverse(data, visit, arg);
  });
  return status;
}

void break_slot_cycles(TensorImpl& t) {
  each(t, [&](void* data, const TlSlotType& type) {
    if (type.clear) type.clear(data);
  });
}

}  // namespace tl

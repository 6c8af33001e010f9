// Slots of tensors: a field for autograd, a short linked list for all other layers.
#include "tensor/slots.h"

#include <atomic>
#include <utility>

namespace tl {

namespace {
// Every tensor with an autograd slot has the same type of slot: the layer that owns it is installed once.
std::atomic<const TlSlotType*> g_autograd_type{nullptr};

const TlSlotType* autograd_type() { return g_autograd_type.load(std::memory_order_relaxed); }

struct Hung {
  void* data = nullptr;
  const TlSlotType* type = nullptr;
};

Hung detach(TensorImpl& t, int layer) {
  if (layer == TL_LAYER_AUTOGRAD) return {std::exchange(t.autograd, nullptr), autograd_type()};
  for (Slot** at = &t.slots; *at; at = &(*at)->next) {
    if ((*at)->layer != layer) continue;
    Slot* found = *at;
    *at = found->next;
    const Hung hung{found->data, found->type};
    delete found;
    return hung;
  }
  return {};
}

void destroy(const Hung& hung) {
  if (hung.data && hung.type && hung.type->destroy) hung.type->destroy(hung.data);
}

template <class F>
void each(const TensorImpl& t, F f) {
  if (t.autograd && autograd_type()) f(t.autograd, *autograd_type());
  for (const Slot *at = t.slots, *next; at; at = next) {
    next = at->next;
    if (at->type) f(at->data, *at->type);
  }
}
}  // namespace

void* get_slot(const TensorImpl& t, int layer) {
  if (layer == TL_LAYER_AUTOGRAD) return t.autograd;
  for (const Slot* at = t.slots; at; at = at->next)
    if (at->layer == layer) return at->data;
  return nullptr;
}

void set_slot(TensorImpl& t, int layer, void* data, const TlSlotType* type) {
  TL_CHECK(!type || type->struct_size >= sizeof(TlSlotType), Value, "TlSlotType.struct_size is ",
           type->struct_size, ", too small");
  const Hung old = detach(t, layer);
  if (layer == TL_LAYER_AUTOGRAD) {
    if (type) g_autograd_type.store(type, std::memory_order_relaxed);
    t.autograd = data;
  } else if (data) {
    t.slots = new Slot{layer, data, type, t.slots};
  }
  destroy(old);
}

void* take_slot(TensorImpl& t, int layer) { return detach(t, layer).data; }

void clear_slots(TensorImpl& t) {
  if (t.autograd) destroy(detach(t, TL_LAYER_AUTOGRAD));
  while (t.slots) destroy(detach(t, t.slots->layer));
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

// What layers hang on a tensor. Autograd's slot is a field of the tensor; the rare others, seldom more than
// one, are a list.
#pragma once

#include "tensor/tensor.h"

namespace tl {

struct Slot {
  int layer;
  void* data;
  const TlSlotType* type;
  Slot* next;
};

void* get_slot(const TensorImpl& t, int layer);
void set_slot(TensorImpl& t, int layer, void* data, const TlSlotType* type);  // destroys what was there
void* take_slot(TensorImpl& t, int layer);
void clear_slots(TensorImpl& t);
int traverse_slots(const TensorImpl& t, TlVisit visit, void* arg);
void break_slot_cycles(TensorImpl& t);

}  // namespace tl

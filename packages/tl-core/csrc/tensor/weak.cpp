// Weak handles: a counted cell that points at the tensor until it dies.
#include "tensor/weak.h"

namespace tl {

void WeakCell::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

WeakCell* weak_handle(TensorImpl& t) {
  WeakCell* cell = t.weak.load(std::memory_order_acquire);
  if (!cell) {
    auto* fresh = new WeakCell;
    fresh->target.store(&t, std::memory_order_relaxed);
    if (t.weak.compare_exchange_strong(cell, fresh, std::memory_order_acq_rel)) {
      cell = fresh;
    } else {
      delete fresh;
    }
  }
  cell->retain();
  return cell;
}

Tensor lock(WeakCell& cell) {
  TensorImpl* t = cell.target.load(std::memory_order_acquire);
  if (!t) return {};
  int32_t refs = t->refs.load(std::memory_order_relaxed);
  while (refs > 0)
    if (t->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) return Tensor::adopt(t);
  return {};
}

void forget(TensorImpl& t) {
  WeakCell* cell = t.weak.exchange(nullptr, std::memory_order_acq_rel);
  if (!cell) return;
  cell->target.store(nullptr, std::memory_order_release);
  cell->release();
}

}  // namespace tl

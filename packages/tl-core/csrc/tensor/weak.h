// A handle that does not keep its tensor: the cell outlives the tensor and forgets it.
#pragma once

#include <atomic>

#include "tensor/tensor.h"

namespace tl {

struct WeakCell {
  std::atomic<int32_t> refs{1};  // the handles, and one for the tensor while it lives
  std::atomic<TensorImpl*> target{nullptr};

  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();
};

WeakCell* weak_handle(TensorImpl& t);  // owned
Tensor lock(WeakCell& cell);           // empty if the tensor is gone
void forget(TensorImpl& t);            // the tensor dies

}  // namespace tl

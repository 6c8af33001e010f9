// Storages that were made smaller: tensors on them may reach beyond their end. The mark is a bit that all of
// a storage's tensors show, so that nobody else is asked; it stays when the storage grows again.
#pragma once

#include "tensor/geometry.h"
#include "tensor/hollow.h"

namespace tl {

inline constexpr int kShrunkLayer = TL_LAYER_SHRUNK;
inline constexpr uint64_t kShrunkBit = uint64_t{1} << kShrunkLayer;

// Raises for a tensor that reaches beyond the end of a storage that was made smaller.
inline void check_inside_storage(const TensorImpl& t) {
  if (t.storage && t.storage->bits.load(std::memory_order_relaxed) & kShrunkBit) [[unlikely]]
    check_reach(t.storage->bytes, item_size(t.dtype), t.sizes(), t.strides(), t.offset);
}

}  // namespace tl

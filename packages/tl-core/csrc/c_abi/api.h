// The table of `tl/c_api.h`.
#pragma once

#include "tensor/pending.h"
#include "tensor/tensor.h"
#include "tl/c_api.h"

namespace tl::c_abi {

const TlApi* get_api(uint32_t major, uint32_t min_minor) noexcept;

void* settled_data(const TensorImpl& t) noexcept;  // of a tensor that waits for its memory

// The memory of a tensor's elements, for a caller who may write there: whatever waits for them reads them
// first. NULL, with the error pending, where they can't be computed.
inline void* opened_data(const TensorImpl& t) noexcept {
  const bool waits = t.storage && t.storage->bits.load(std::memory_order_relaxed) & kDeferBit;
  return waits ? settled_data(t) : t.data();
}

}  // namespace tl::c_abi

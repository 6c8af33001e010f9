// Memory that has yet to be computed. A pending storage has a size and no data; whoever asks for its address
// has it computed first, and what it waits for is open to no write meanwhile. `exposed` says of a storage
// that its address has been handed out, so that its elements may change without a call of an operator.
#pragma once

#include "tensor/tensor.h"

namespace tl {

inline constexpr uint64_t kDeferBit = uint64_t{1} << TL_LAYER_DEFER;

void set_deferral(const TlDeferral& deferral);  // once a process
Tensor pending_tensor(IntSpan sizes, IntSpan strides, DType dtype, void* ctx);
void* pending_ctx(const Storage& storage);  // NULL: not pending
// The memory of `from`, which has none afterwards.
void provide(Storage& pending, Storage& from);
// A share in a storage, unless its last holder is letting it go.
StoragePtr lock_storage(Storage& storage);

// Of a storage without data, which is destroyed: whether it has got data meanwhile.
bool drop_pending(Storage& storage);
[[gnu::cold]] void open_storage(Storage& storage);
// Before somebody writes past the operators: what waits for these elements reads them, and they are there.
inline void open_to_writes(Storage& storage) {
  if (storage.bits.load(std::memory_order_relaxed) & kDeferBit) [[unlikely]]
    open_storage(storage);
}
// The same, before the address is handed out for good.
inline void expose(Storage& storage) {
  storage.exposed.store(true, std::memory_order_relaxed);
  open_to_writes(storage);
}
inline void expose(const Tensor& t) {
  if (t.storage()) expose(*t.storage());
}

}  // namespace tl

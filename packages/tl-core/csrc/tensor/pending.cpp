// Pending storages: what they wait for hangs where others keep the way to free their data.
#include "tensor/pending.h"

#include <utility>

#include "base/error.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
TlDeferral g_deferral{};

// Marks a storage as pending: there are no data that it would have to free.
void free_nothing(void*, void*, size_t) {}

bool is_pending(const Storage& s) { return !s.data && s.free == free_nothing; }
}  // namespace

void set_deferral(const TlDeferral& deferral) {
  TL_CHECK(!g_deferral.settle, Runtime, "a deferral is installed already");
  g_deferral = deferral;
}

Tensor pending_tensor(IntSpan sizes, IntSpan strides, DType dtype, void* ctx) {
  StoragePtr storage =
      adopt_storage(nullptr, static_cast<size_t>(checked_mul(checked_numel(sizes), item_size(dtype))), {},
                    free_nothing, ctx);
  storage->resizable = true;
  storage->exposed.store(false, std::memory_order_relaxed);
  storage->bits.store(kDeferBit, std::memory_order_relaxed);
  return on_storage(std::move(storage), dtype, sizes, strides, 0);
}

void* pending_ctx(const Storage& s) { return is_pending(s) ? s.free_ctx : nullptr; }

void provide(Storage& s, Storage& from) {
  TL_CHECK(is_pending(s), Runtime, "tensor_provide(): the tensor has its memory already");
  TL_CHECK(from.bytes >= s.bytes, Runtime, "tensor_provide(): a memory of ", from.bytes,
           " bytes for a tensor of ", s.bytes);
  void* const data = detach_memory(from);
  s.free = from.free;
  s.free_ctx = from.free_ctx;
  s.bits.fetch_and(~kDeferBit, std::memory_order_relaxed);
  // Other threads look at the address alone.
  __atomic_store_n(&s.data, data, __ATOMIC_RELEASE);
}

StoragePtr lock_storage(Storage& s) {
  int32_t refs = s.refs.load(std::memory_order_acquire);
  while (refs > 0)
    if (s.refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) return StoragePtr::adopt(&s);
  return {};
}

bool drop_pending(Storage& s) {
  if (!is_pending(s)) return false;
  g_deferral.drop(s.free_ctx);
  return s.data != nullptr;
}

bool settle(Storage& s) {
  if (!is_pending(s)) return s.data != nullptr;
  if (g_deferral.settle(s.free_ctx) != 0) throw_pending();
  return s.data != nullptr;
}

void open_storage(Storage& s) {
  if (g_deferral.open(&s) != 0) throw_pending();
  settle(s);
}

}  // namespace tl

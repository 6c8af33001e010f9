// A block of memory shared by the tensors that view it, with the version counter they share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/intrusive.h"

namespace tl {

struct Storage {
  std::atomic<int32_t> refs{1};
  std::atomic<uint32_t> version{0};
  std::atomic<uint64_t> bits{0};  // layer bits seen by every tensor on this storage
  void* data = nullptr;
  size_t bytes = 0;
  void (*free)(void* ctx, void* data, size_t bytes) = nullptr;  // NULL: the core's allocator
  void* free_ctx = nullptr;
  Device device;
  bool read_only = false;
  bool resizable = true;
  std::atomic<bool> has_weak_number{false};  // weak_storages.h
  std::atomic<bool> exposed{false};          // pending.h
  uint32_t block_bytes = 0;  // of the block the storage lies in; data of few bytes follow there

  void destroy();
};
using StoragePtr = IntrusivePtr<Storage>;

// Uninitialised memory on `device`; none for meta.
StoragePtr new_storage(size_t bytes, Device device);
// Memory that belongs to somebody else until `free(ctx, data, bytes)`.
StoragePtr adopt_storage(void* data, size_t bytes, Device device, void (*free)(void*, void*, size_t),
                         void* ctx);
// The storage's memory, which is the caller's to free as the storage would. Small data are copied out of the
// block in which the storage lies.
void* detach_memory(Storage& storage);
// Gives up its own memory for that of `from`, which has none afterwards.
void take_memory(Storage& storage, Storage& from);
// Of a storage without memory: computes it, if it has only waited for that. Whether there is any now; raises
// what goes wrong.
bool settle(Storage& storage);
// Grows or shrinks, keeping what fits.
void resize_storage(Storage& storage, size_t bytes);

}  // namespace tl

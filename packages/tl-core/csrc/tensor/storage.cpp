// Storages: small data lie behind the storage in one allocation, large data in a block of their own.
#include "tensor/storage.h"

#include <cstring>
#include <utility>

#include "base/allocator.h"
#include "base/error.h"
#include "base/memory_history.h"
#include "base/size_class.h"
#include "tensor/device_registry.h"
#include "tensor/pending.h"
#include "tensor/weak_storages.h"

namespace tl {

namespace {
void free_on_device(void* ctx, void* data, size_t bytes) {
  auto& storage_device = *static_cast<const DeviceEntry*>(ctx);
  storage_device.free(data, bytes);
}

void* allocate_on(Device device, size_t bytes, Storage& s) {
  if (device.is_cpu()) {
    void* p = allocate(bytes);
    note_allocated(p, bytes);
    return p;
  }
  const DeviceEntry& entry = device_entry(device.type);
  s.free = free_on_device;
  s.free_ctx = const_cast<DeviceEntry*>(&entry);
  return entry.allocate(device.index, bytes);
}

// Data of few bytes lie behind their storage, one allocation for both; reuse off, a sanitizer sees two
// blocks.
constexpr size_t kDataOffset = kBlockAlignment;
static_assert(sizeof(Storage) <= kDataOffset);
#ifdef TL_NO_FREELISTS
constexpr size_t kMostInBlock = 0;
#else
constexpr size_t kMostInBlock = kSmallMax - kDataOffset;
#endif

char* data_in_block(Storage& s) { return reinterpret_cast<char*>(&s) + kDataOffset; }
bool has_data_in_block(Storage& s) { return s.block_bytes > kDataOffset && s.data == data_in_block(s); }

Storage* new_block(size_t bytes, Device device) {
  auto* s = new (allocate(bytes)) Storage;
  s->block_bytes = static_cast<uint32_t>(bytes);
  s->device = device;
  return s;
}

StoragePtr storage_with_own_data(size_t bytes, Device device) {
  auto storage = StoragePtr::adopt(new_block(sizeof(Storage), device));
  if (bytes && !device.is_meta())
    storage->data = allocate_on(device, bytes, *storage);
  else if (!device.is_cpu() && !device.is_meta())
    device_entry(device.type);  // there must be one, even if nothing is allocated
  storage->bytes = bytes;
  return storage;
}

[[gnu::cold, gnu::noinline]] void note_end(Storage& s) {
  if (s.data && !s.free) note_freed(s.data, s.bytes);
}

void free_data(Storage& s) {
  if (!s.data && !drop_pending(s)) return;
  if (has_data_in_block(s)) return;
  if (s.free) {
    s.free(s.free_ctx, s.data, s.bytes);
  } else {
    deallocate(s.data, s.bytes);
  }
}
}  // namespace

void Storage::destroy() {
  if (has_weak_number.load(std::memory_order_relaxed) && !forget_weak_storage(*this)) [[unlikely]]
    return;
  if (memory_is_watched()) [[unlikely]]
    note_end(*this);
  free_data(*this);
  const size_t block = block_bytes;
  this->~Storage();
  deallocate(this, block);
}

StoragePtr new_storage(size_t bytes, Device device) {
  if (bytes - 1 >= kMostInBlock || !device.is_cpu()) return storage_with_own_data(bytes, device);
  Storage* s = new_block(kDataOffset + bytes, device);
  s->data = data_in_block(*s);
  s->bytes = bytes;
  note_allocated(s->data, bytes);
  return StoragePtr::adopt(s);
}

StoragePtr adopt_storage(void* data, size_t bytes, Device device, void (*free)(void*, void*, size_t),
                         void* ctx) {
  auto storage = StoragePtr::adopt(new_block(sizeof(Storage), device));
  storage->data = data;
  storage->bytes = bytes;
  storage->free = free;
  storage->free_ctx = ctx;
  storage->resizable = false;
  storage->exposed.store(true, std::memory_order_relaxed);
  return storage;
}

void* detach_memory(Storage& s) {
  if (!has_data_in_block(s)) return std::exchange(s.data, nullptr);
  void* const data = allocate(s.bytes);
  note_allocated(data, s.bytes);
  std::memcpy(data, s.data, s.bytes);
  return data;
}

void take_memory(Storage& s, Storage& from) {
  if (!from.data) settle(from);
  if (memory_is_watched()) note_end(s);
  free_data(s);
  s.data = std::exchange(from.data, nullptr);
  s.bytes = from.bytes;
  s.free = from.free;
  s.free_ctx = from.free_ctx;
  s.resizable = from.resizable;
}

void resize_storage(Storage& s, size_t bytes) {
  TL_CHECK(s.resizable, Runtime,
           "Trying to resize storage that is not resizable: its memory belongs to another library");
  if (bytes == s.bytes) return;
  open_to_writes(s);
  if (s.device.is_meta()) {
    s.bytes = bytes;
    return;
  }
  StoragePtr fresh = storage_with_own_data(bytes, s.device);
  const size_t common = std::min(bytes, s.bytes);
  if (common && s.device.is_cpu()) std::memcpy(fresh->data, s.data, common);
  if (common && !s.device.is_cpu())
    device_entry(s.device.type).copy_within(s.device.index, fresh->data, s.data, common);
  take_memory(s, *fresh);
}

}  // namespace tl

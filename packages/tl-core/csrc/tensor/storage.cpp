#include "tensor/storage.h"

#include <cstring>

#include "base/allocator.h"
#include "base/error.h"
#include "tensor/device_registry.h"

namespace tl {

namespace {
void free_on_device(void* ctx, void* data, size_t bytes) {
  auto& storage_device = *static_cast<const DeviceEntry*>(ctx);
  storage_device.free(data, bytes);
}

void* allocate_on(Device device, size_t bytes, Storage& s) {
  if (device.is_cpu()) return allocate(bytes);
  const DeviceEntry& entry = device_entry(device.type);
  s.free = free_on_device;
  s.free_ctx = const_cast<DeviceEntry*>(&entry);
  return entry.allocate(device.index, bytes);
}

void free_data(Storage& s) {
  if (!s.data) return;
  if (s.free) {
    s.free(s.free_ctx, s.data, s.bytes);
  } else {
    deallocate(s.data, s.bytes);
  }
  s.data = nullptr;
}
}  // namespace

void Storage::destroy() {
  free_data(*this);
  this->~Storage();
  deallocate(this, sizeof(Storage));
}

StoragePtr new_storage(size_t bytes, Device device) {
  auto storage = StoragePtr::adopt(new (allocate(sizeof(Storage))) Storage);
  storage->device = device;
  if (bytes && !device.is_meta()) storage->data = allocate_on(device, bytes, *storage);
  storage->bytes = bytes;
  return storage;
}

StoragePtr adopt_storage(void* data, size_t bytes, Device device, void (*free)(void*, void*, size_t),
                         void* ctx) {
  auto storage = StoragePtr::adopt(new (allocate(sizeof(Storage))) Storage);
  storage->data = data;
  storage->bytes = bytes;
  storage->device = device;
  storage->free = free;
  storage->free_ctx = ctx;
  storage->resizable = false;
  return storage;
}

void resize_storage(Storage& s, size_t bytes) {
  TL_CHECK(s.resizable, Runtime,
           "Trying to resize storage that is not resizable: its memory belongs to another library");
  if (bytes == s.bytes) return;
  if (s.device.is_meta()) {
    s.bytes = bytes;
    return;
  }
  StoragePtr fresh = new_storage(bytes, s.device);
  const size_t kept = std::min(bytes, s.bytes);
  if (kept && s.device.is_cpu()) std::memcpy(fresh->data, s.data, kept);
  if (kept && !s.device.is_cpu())
    device_entry(s.device.type).copy_within(s.device.index, fresh->data, s.data, kept);
  std::swap(fresh->data, s.data);
  std::swap(fresh->bytes, s.bytes);
}

}  // namespace tl

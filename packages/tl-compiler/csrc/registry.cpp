// Numbers instead of addresses: a thread may ask for what another has just computed.
#include "registry.h"

#include <pthread.h>

#include <algorithm>

namespace tl::compiler {

Registry& Registry::get() {
  static Registry& registry = *[] {
    static auto* made = new Registry;  // tensors may end after static destructors
    pthread_atfork([] { made->mutex_.lock(); }, [] { made->mutex_.unlock(); }, [] { made->mutex_.unlock(); });
    return made;
  }();
  return registry;
}

uint64_t Registry::add(std::shared_ptr<Batch> batch, int step) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t at = free_.back();
  free_.pop_back();
  slots_[at].pending_step = {std::move(batch), step};
  return uint64_t{slots_[at].uses} << kSlotBits | (at + 1);
}

PendingStep Registry::find(uint64_t id) const {
  const uint64_t at = (id & kSlotMask) - 1;
  return at < slots_.size() && slots_[at].uses == id >> kSlotBits ? slots_[at].pending_step : PendingStep{};
}

void Registry::move(uint64_t id, PendingStep to) {
  slots_[(id & kSlotMask) - 1].pending_step = std::move(to);
}

void Registry::remove(uint64_t id) {
  const uint64_t at = (id & kSlotMask) - 1;
  if (at >= slots_.size() || slots_[at].uses != id >> kSlotBits) return;
  slots_[at].pending_step = {};
  ++slots_[at].uses;
  free_.push_back(static_cast<uint32_t>(at));
}

void Registry::add_reader(const void* storage, const std::shared_ptr<Batch>& batch) {
  readers_[storage].push_back(batch);
}

bool Registry::remove_reader(const void* storage, const Batch* batch) {
  const auto at = readers_.find(storage);
  if (at == readers_.end()) return false;
  std::erase_if(at->second, [&](const auto& reader) { return reader.get() == batch; });
  if (!at->second.empty()) return true;
  readers_.erase(at);
  return false;
}

std::vector<std::shared_ptr<Batch>> Registry::readers(const void* storage) const {
  const auto at = readers_.find(storage);
  return at == readers_.end() ? std::vector<std::shared_ptr<Batch>>{} : at->second;
}

}  // namespace tl::compiler

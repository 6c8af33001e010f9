// Operands by the address of their storage, which a weak number guards against another storage at that
// address.
#include "tensor/packings.h"

#include <utility>

#include "base/allocator.h"
#include "tensor/weak_storages.h"

namespace tl {

namespace {
thread_local Packings* t_packings = nullptr;

bool is_alive(int64_t number) { return static_cast<bool>(lock_weak_storage(number)); }
}  // namespace

Packing::~Packing() {
  for (Copy& copy : copies_)
    if (copy.data) deallocate(copy.data, copy.bytes);
}

void Packing::reserve(Copy& copy, size_t bytes) {
  if (copy.data) return;  // `fill` has raised
  copy.data = static_cast<char*>(allocate(bytes));
  copy.bytes = bytes;
}

size_t Packing::size() const {
  size_t bytes = 0;
  for (const Copy& copy : copies_)
    if (copy.is_whole.load(std::memory_order_acquire)) bytes += copy.bytes;
  return bytes;
}

Packings::~Packings() {
  for (const auto& [storage, operand] : operands_) drop_weak_storage(operand.number);
}

void Packings::forget_dead() {
  std::erase_if(operands_, [](const auto& item) {
    if (is_alive(item.second.number)) return false;
    drop_weak_storage(item.second.number);
    return true;
  });
  checked_at_ = 2 * operands_.size() + 64;
}

Packings::Operand& Packings::operand_of(Storage& storage) {
  const auto at = operands_.find(&storage);
  if (at != operands_.end()) {
    if (is_alive(at->second.number)) return at->second;
    drop_weak_storage(at->second.number);
    operands_.erase(at);
  }
  if (operands_.size() >= checked_at_) forget_dead();
  return operands_.try_emplace(&storage, Operand{weak_storage(storage), {}}).first->second;
}

std::shared_ptr<Packing> Packings::find(const Tensor& operand, const PackingKey& key) {
  // Writes to these are counted elsewhere, or not at all.
  constexpr auto kUncounted = TensorImpl::PrivateVersion | TensorImpl::Inference;
  if (!operand.storage() || operand->flags & kUncounted) return nullptr;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  std::vector<Entry>& entries = operand_of(*operand.storage()).entries;
  const uint32_t now = version(*operand.impl());
  for (Entry& entry : entries) {
    if (entry.key != key) continue;
    if (std::exchange(entry.version, now) != now)
      entry.packing.reset();
    else if (!entry.packing)
      entry.packing = std::make_shared<Packing>();
    return entry.packing;
  }
  if (entries.size() < kMostForms) entries.push_back({key, now, nullptr});
  return nullptr;
}

size_t Packings::size() {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [storage, operand] : operands_)
    for (const Entry& entry : operand.entries) bytes += entry.packing ? entry.packing->size() : 0;
  return bytes;
}

Packings* packings() { return t_packings; }

PackingScope::PackingScope(Packings* inside) : before_(std::exchange(t_packings, inside)) {}
PackingScope::~PackingScope() { t_packings = before_; }

}  // namespace tl

// Weak references to storages: a registry of numbers under one lock.
#include "tensor/weak_storages.h"

#include <mutex>
#include <unordered_map>

#include "base/error.h"

namespace tl {

namespace {
struct Entry {
  Storage* target = nullptr;  // null: gone
  int64_t holders = 0;
};

// Few storages are ever watched, and only they come here.
struct Registry {
  std::mutex mutex;
  std::unordered_map<int64_t, Entry> entries;
  std::unordered_map<const Storage*, int64_t> numbers;
  int64_t last = 0;

  Entry& at(int64_t number) {
    const auto found = entries.find(number);
    TL_CHECK(found != entries.end(), Value, "no weak reference to a storage has the number ", number);
    return found->second;
  }
};

Registry& registry() {
  static auto& r = *new Registry;  // storages may end after static destructors
  return r;
}
}  // namespace

int64_t weak_storage(Storage& s) {
  Registry& r = registry();
  std::lock_guard guard(r.mutex);
  int64_t& number = r.numbers[&s];
  if (number == 0) {
    number = ++r.last;
    r.entries[number].target = &s;
    s.has_weak_number = true;
  }
  ++r.entries[number].holders;
  return number;
}

StoragePtr lock_weak_storage(int64_t number) {
  Registry& r = registry();
  std::lock_guard guard(r.mutex);
  Storage* s = r.at(number).target;
  if (!s) return {};
  int32_t refs = s->refs.load(std::memory_order_relaxed);
  while (refs > 0)
    if (s->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) return StoragePtr::adopt(s);
  return {};
}

void drop_weak_storage(int64_t number) {
  Registry& r = registry();
  std::lock_guard guard(r.mutex);
  Entry& entry = r.at(number);
  if (--entry.holders > 0) return;
  if (entry.target) {
    entry.target->has_weak_number = false;
    r.numbers.erase(entry.target);
  }
  r.entries.erase(number);
}

bool forget_weak_storage(Storage& s) {
  Registry& r = registry();
  std::lock_guard guard(r.mutex);
  // A sole owner has not counted itself off (IntrusivePtr): whoever locked the storage since then shares it
  // now.
  if (s.refs.load(std::memory_order_acquire) > 0 && s.refs.fetch_sub(1, std::memory_order_acq_rel) > 1)
    return false;
  const auto found = r.numbers.find(&s);
  if (found == r.numbers.end()) return true;
  r.entries[found->second].target = nullptr;
  r.numbers.erase(found);
  return true;
}

}  // namespace tl

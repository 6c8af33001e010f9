// What waits, by the numbers that pending tensors carry, and the batches that read a storage.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "batch.h"

namespace tl::compiler {

// Under one lock, which is held for look-ups only: no tensor is let go of inside.
class Registry {
 public:
  static Registry& get();
  std::mutex& mutex() { return mutex_; }

  // Each of these needs the lock.
  uint64_t add(std::shared_ptr<Batch> batch, int step);
  PendingStep find(uint64_t id) const;
  void remove(uint64_t id);
  void move(uint64_t id, PendingStep to);  // the same tensor stands for another step
  void add_reader(const void* storage, const std::shared_ptr<Batch>& batch);
  // Whether others read the storage.
  bool remove_reader(const void* storage, const Batch* batch);
  std::vector<std::shared_ptr<Batch>> readers(const void* storage) const;

 private:
  std::mutex mutex_;
  // An id is a slot, counted from 1, and how often the slot has been used before.
  struct Slot {
    PendingStep pending_step;
    uint32_t uses = 0;
  };
  static constexpr uint64_t kSlotBits = 32, kSlotMask = (uint64_t{1} << kSlotBits) - 1;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::unordered_map<const void*, std::vector<std::shared_ptr<Batch>>> readers_;
};

}  // namespace tl::compiler

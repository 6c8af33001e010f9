// Packed copies of operands that a program multiplies by in each of its calls, such as weights. They outlive
// the products, and belong to one version of the operand.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tensor/tensor.h"

namespace tl {

// What a packed copy depends on beside the elements.
struct PackingKey {
  const void* data = nullptr;
  DType dtype = DType::Float32;
  std::array<int64_t, 12> geometry{};

  bool operator==(const PackingKey&) const = default;
};

// The copies of one operand.
class Packing {
 public:
  enum Form { Product, Winograd, FewPositions, kForms };

  Packing() = default;
  ~Packing();
  Packing(const Packing&) = delete;

  // The copy in a form of so many bytes, which `fill` writes where it is not there. Null while another thread
  // writes it, or where it has another size: nobody waits, so a child process of a fork can't wait for ever.
  template <class F>
  const char* form(Form number, size_t bytes, F fill) {
    Copy& copy = copies_[number];
    if (!copy.is_whole.load(std::memory_order_acquire)) {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock) return nullptr;
      if (!copy.is_whole.load(std::memory_order_relaxed)) {
        reserve(copy, bytes);
        fill(copy.data);
        copy.is_whole.store(true, std::memory_order_release);
      }
    }
    return copy.bytes == bytes ? copy.data : nullptr;
  }
  size_t size() const;  // in bytes, of all forms

 private:
  struct Copy {
    std::atomic<bool> is_whole{false};
    char* data = nullptr;
    size_t bytes = 0;
  };
  static void reserve(Copy& copy, size_t bytes);

  std::mutex mutex_;
  Copy copies_[kForms];
};

// The operands of a program.
class Packings {
 public:
  Packings() = default;
  ~Packings();
  Packings(const Packings&) = delete;

  // The copies of an operand's present elements. Null where it is met for the first time since its last
  // write: what is used once is not worth a copy.
  std::shared_ptr<Packing> find(const Tensor& operand, const PackingKey& key);
  // What all copies hold.
  size_t size();

 private:
  struct Entry {
    PackingKey key;
    uint32_t version;
    std::shared_ptr<Packing> packing;
  };
  struct Operand {
    int64_t number;  // weak_storages.h
    std::vector<Entry> entries;
  };
  static constexpr size_t kMostForms = 16;  // of one storage, such as of a matrix and of its transpose

  Operand& operand_of(Storage& storage);
  void forget_dead();

  std::mutex mutex_;
  std::unordered_map<const Storage*, Operand> operands_;
  size_t checked_at_ = 64;
};

// Those of the program that this thread runs, or null.
Packings* packings();

// The packings of a block.
class PackingScope {
 public:
  explicit PackingScope(Packings* inside);
  ~PackingScope();
  PackingScope(const PackingScope&) = delete;

 private:
  Packings* before_;
};

}  // namespace tl

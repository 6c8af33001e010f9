// An object of an extension behind a count: the core knows its type, which destroys it, and nothing else.
#pragma once

#include <atomic>
#include <cstdint>

#include "tl/extension.h"

namespace tl {

class Capsule {
 public:
  Capsule(void* data, const TlCapsuleType* type) : data_(data), type_(type) {}
  Capsule(const Capsule&) = delete;

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  void* data() const { return data_; }
  const TlCapsuleType& type() const { return *type_; }

 private:
  ~Capsule() {
    if (type_->destroy) type_->destroy(data_);
  }

  std::atomic<int64_t> refs_{1};
  void* data_;
  const TlCapsuleType* type_;
};

}  // namespace tl

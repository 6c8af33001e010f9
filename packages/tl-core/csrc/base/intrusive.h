// A share in an object that counts its own references: T has `refs` and `destroy()`.
#pragma once

#include <atomic>
#include <utility>

namespace tl {

template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  static IntrusivePtr adopt(T* p) {
    IntrusivePtr out;
    out.p_ = p;
    return out;
  }
  static IntrusivePtr share(T* p) {
    if (p) p->refs.fetch_add(1, std::memory_order_relaxed);
    return adopt(p);
  }
  IntrusivePtr(const IntrusivePtr& o) : IntrusivePtr(share(o.p_)) {}
  IntrusivePtr(IntrusivePtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~IntrusivePtr() {
    if (!p_) return;
    // A sole owner needs no atomic read-modify-write.
    if (p_->refs.load(std::memory_order_acquire) == 1 ||
        p_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
      p_->destroy();
  }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_; }
  T* detach() { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

}  // namespace tl

// Working memory of a kernel: uninitialised, from the stack while it is small, else from the allocator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/allocator.h"
#include "kernels/cpu/simd/isa.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// `T` must be trivial.
template <class T, int64_t kInline = 4096 / sizeof(T)>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : bytes_(static_cast<size_t>(n) * sizeof(T)),
        data_(n <= kInline ? reinterpret_cast<T*>(inline_) : static_cast<T*>(allocate(bytes_))) {}
  ~Scratch() {
    if (data_ != reinterpret_cast<T*>(inline_)) deallocate(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() { return data_; }
  T& operator[](int64_t i) { return data_[i]; }

 private:
  alignas(64) char inline_[kInline * sizeof(T)];
  size_t bytes_;
  T* data_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

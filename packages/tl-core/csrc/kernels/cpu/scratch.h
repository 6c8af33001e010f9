// Working memory of a kernel: uninitialised, from the stack while it is small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "kernels/cpu/isa.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// `T` must be trivial.
template <class T, int64_t kInline = 4096 / sizeof(T)>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : data_(n <= kInline ? reinterpret_cast<T*>(inline_)
                           : static_cast<T*>(
                                 ::operator new(static_cast<size_t>(n) * sizeof(T), std::align_val_t{64}))) {}
  ~Scratch() {
    if (data_ != reinterpret_cast<T*>(inline_)) ::operator delete(data_, std::align_val_t{64});
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() { return data_; }
  T& operator[](int64_t i) { return data_[i]; }

 private:
  alignas(64) char inline_[kInline * sizeof(T)];
  T* data_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

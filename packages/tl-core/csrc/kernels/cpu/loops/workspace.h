// Working memory of a kernel that may be large: uninitialised, from the allocator, whose blocks are kept.
#pragma once

#include <type_traits>

#include "base/allocator.h"
#include "kernels/cpu/simd/isa.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
class Workspace {
  static_assert(std::is_trivial_v<T>);

 public:
  explicit Workspace(int64_t n)
      : bytes_(static_cast<size_t>(n) * sizeof(T)), data_(static_cast<T*>(allocate(bytes_))) {}
  ~Workspace() { deallocate(data_, bytes_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  T* data() const { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

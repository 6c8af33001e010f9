// With how many bits of their factors products of float32 may be computed.
#pragma once

#include <atomic>

namespace tl {

enum class MatmulPrecision : char { Highest, High, Medium };  // all 24, those of two bfloat16, of one

inline std::atomic<MatmulPrecision> matmul_precision{MatmulPrecision::Highest};
inline thread_local bool needs_all_bits = false;

// While it lives, the thread's products take all bits: for results that are differences of products.
class AllBits {
 public:
  explicit AllBits(bool on = true) : before_(needs_all_bits) { needs_all_bits |= on; }
  ~AllBits() { needs_all_bits = before_; }
  AllBits(const AllBits&) = delete;
  AllBits& operator=(const AllBits&) = delete;

 private:
  bool before_;
};

}  // namespace tl

// Equality of dense arrays: blocks without branches, which the compiler vectorizes; integers as bytes.
#include "kernels/cpu/loops/equality.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "base/parallel.h"

namespace tl::cpu {

namespace {

template <class T>
bool equal_reals(const char* a, const char* b, int64_t n) {
  const T *x = reinterpret_cast<const T*>(a), *y = reinterpret_cast<const T*>(b);
  using Flags =
      std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;  // as wide, for the compiler's vectors
  Flags differ = 0;
  for (int64_t i = 0; i < n; ++i) differ |= static_cast<Flags>(!(x[i] == y[i]));
  return !differ;
}

// Halves by their bits: the same ones that are no NaN's, or two zeros.
template <uint16_t infinity>
bool equal_halves(const char* a, const char* b, int64_t n) {
  constexpr uint16_t kMagnitude = 0x7fff;
  const auto *x = reinterpret_cast<const uint16_t*>(a), *y = reinterpret_cast<const uint16_t*>(b);
  uint16_t differ = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool zeros = ((x[i] | y[i]) & kMagnitude) == 0;
    differ |=
        static_cast<uint16_t>(static_cast<int>(!zeros) & ((x[i] != y[i]) | ((x[i] & kMagnitude) > infinity)));
  }
  return !differ;
}

bool equal_part(DType dtype, const char* a, const char* b, int64_t n) {
  switch (dtype) {
    case DType::Float32:
      return equal_reals<float>(a, b, n);
    case DType::Complex64:
      return equal_reals<float>(a, b, 2 * n);
    case DType::Float64:
      return equal_reals<double>(a, b, n);
    case DType::Complex128:
      return equal_reals<double>(a, b, 2 * n);
    case DType::Float16:
      return equal_halves<0x7c00>(a, b, n);
    case DType::BFloat16:
      return equal_halves<0x7f80>(a, b, n);
    default:
      return n == 0 || std::memcmp(a, b, static_cast<size_t>(n * item_size(dtype))) == 0;
  }
}

}  // namespace

bool has_equality(DType dtype) {
  constexpr DType kReals[] = {DType::Float32,    DType::Complex64, DType::Float64,
                              DType::Complex128, DType::Float16,   DType::BFloat16};
  return is_integral(dtype, true) || std::ranges::find(kReals, dtype) != std::end(kReals);
}

bool equal_elements(DType dtype, const char* a, const char* b, int64_t n) {
  constexpr int64_t kFirst = 64, kBlock = 1024, kGrain = 1 << 16;
  std::atomic<bool> equal{true};
  const int64_t item = item_size(dtype);
  if (!equal_part(dtype, a, b, std::min<int64_t>(n, kFirst))) return false;
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && equal.load(std::memory_order_relaxed); i += kBlock)
      if (!equal_part(dtype, a + i * item, b + i * item, std::min(kBlock, end - i)))
        equal.store(false, std::memory_order_relaxed);
  });
  return equal;
}

}  // namespace tl::cpu

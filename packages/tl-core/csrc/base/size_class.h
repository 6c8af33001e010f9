// The sizes in which the allocator hands out memory: steps of 64 bytes to 2 KB, then four steps a doubling,
// and from 64 MB on sixteen, where a quarter too much would be felt.
#pragma once

#include <bit>
#include <cstddef>

namespace tl {

inline constexpr size_t kBlockAlignment = 64;
inline constexpr size_t kSmallMax = 2048;             // from slabs
inline constexpr size_t kMidMax = size_t{256} << 10;  // in lists of a thread
inline constexpr size_t kLargeMax = size_t{1} << 47;  // what an address space holds

namespace detail {
inline constexpr int kSmallClasses = kSmallMax / kBlockAlignment + 1;  // 0 bytes have one of their own
inline constexpr int kCoarseBits = 2, kFineBits = 4;
inline constexpr int kFirstCoarse = 11, kFirstFine = 26;  // powers of two above which these steps begin
inline constexpr int kFirstFineClass = kSmallClasses + ((kFirstFine - kFirstCoarse) << kCoarseBits);

constexpr int step_class(size_t last, int power, int first_power, int bits) {
  const size_t step = (last >> (power - bits)) & ((size_t{1} << bits) - 1);
  return ((power - first_power) << bits) + static_cast<int>(step);
}

constexpr size_t step_size(int c, int first_power, int bits) {
  const int power = first_power + (c >> bits);
  const size_t step = (c & ((1 << bits) - 1)) + 1;
  return (size_t{1} << power) + (step << (power - bits));
}
}  // namespace detail

constexpr int size_class(size_t bytes) {
  using namespace detail;
  if (bytes <= kSmallMax) return static_cast<int>((bytes + kBlockAlignment - 1) / kBlockAlignment);
  const size_t last = bytes - 1;
  const int power = std::bit_width(last) - 1;
  return power < kFirstFine ? kSmallClasses + step_class(last, power, kFirstCoarse, kCoarseBits)
                            : kFirstFineClass + step_class(last, power, kFirstFine, kFineBits);
}

constexpr size_t class_size(int c) {
  using namespace detail;
  if (c < kSmallClasses) return c ? c * kBlockAlignment : kBlockAlignment;
  return c < kFirstFineClass ? step_size(c - kSmallClasses, kFirstCoarse, kCoarseBits)
                             : step_size(c - kFirstFineClass, kFirstFine, kFineBits);
}

inline constexpr int kSmallClasses = detail::kSmallClasses;
inline constexpr int kThreadClasses = size_class(kMidMax) + 1;  // small and mid
inline constexpr int kClasses = size_class(kLargeMax) + 1;

static_assert(class_size(size_class(2049)) == 2560 && class_size(size_class(kMidMax)) == kMidMax);
static_assert(class_size(size_class(kLargeMax)) == kLargeMax);

}  // namespace tl

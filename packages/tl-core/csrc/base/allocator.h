// Memory for tensors and the core's own objects, 64-byte aligned, reused instead of given back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tl {

void* allocate(size_t bytes);  // raises OutOfMemory; never NULL, also for 0 bytes
void deallocate(void* p, size_t bytes) noexcept;

struct MemoryStats {
  int64_t current = 0, peak = 0, allocations = 0, cached = 0;
};
MemoryStats memory_stats();
void reset_peak();
void empty_cache();

}  // namespace tl

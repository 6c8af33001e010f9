// Memory for tensors and the core's own objects, 64-byte aligned, reused instead of given back.
//
// Up to 2 KB a block comes from a slab and stays in lists for good; above, blocks that are free are kept up
// to a bound, so that the result of an operation finds pages that are mapped already. TL_NO_FREELISTS turns
// all reuse off.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tl {

struct AllocatorLists;

void* allocate(size_t bytes);                     // raises OutOfMemory; never NULL, also for 0 bytes
void deallocate(void* p, size_t bytes) noexcept;  // `bytes` as asked for; any thread may free
// Makes what all threads share. A fork while another thread makes it would leave the child waiting for ever,
// so it is called before there are threads.
void start_allocator();
void release_lists(
    AllocatorLists* lists) noexcept;  // at the thread's end, hands its free blocks to the others

struct MemoryStats {
  int64_t current = 0;  // bytes asked for and not freed yet
  int64_t peak = 0;     // highest `current` since the last reset; each further thread may blur it by 64 KB
  int64_t allocations = 0;  // calls of allocate() since the start
  int64_t cached = 0;       // bytes of free blocks that are kept
};
MemoryStats memory_stats();
void reset_peak();

// How many bytes tensors may hold before allocate() raises OutOfMemory; negative: what the container lets the
// whole process use, which is also the limit to begin with. Without one: INT64_MAX.
void set_memory_limit(int64_t bytes);
int64_t memory_limit();

// Gives the free blocks above 2 KB back to the system; those in other threads' own lists stay.
void empty_cache() noexcept;

}  // namespace tl

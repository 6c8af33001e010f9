#include "base/allocator.h"

#include <cstdlib>

#include "base/error.h"

namespace tl {

void* allocate(size_t bytes) {
  void* p = std::aligned_alloc(64, (bytes + 127) & ~size_t{63});
  TL_CHECK(p, OutOfMemory, "out of memory: tried to allocate ", bytes, " bytes");
  return p;
}

void deallocate(void* p, size_t) noexcept { std::free(p); }

MemoryStats memory_stats() { return {}; }
void reset_peak() {}
void empty_cache() {}

}  // namespace tl

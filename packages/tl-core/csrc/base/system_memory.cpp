// Pages by mmap, aligned to huge pages where a request is large enough, and advised accordingly.
#include "base/system_memory.h"

#include <sys/mman.h>

#include <cstdint>

namespace tl {

namespace {
char* map_plain(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
}

char* map_aligned(size_t bytes) {
  char* raw = map_plain(bytes + kHugePage);
  if (!raw) return nullptr;
  const size_t before = -reinterpret_cast<uintptr_t>(raw) & (kHugePage - 1);
  if (before) munmap(raw, before);
  munmap(raw + before + bytes, kHugePage - before);
  return raw + before;
}
}  // namespace

void* map_pages(size_t bytes) noexcept {
  if (bytes < kHugePage) return map_plain(bytes);
  char* p = map_aligned(bytes);
  if (!p) return map_plain(bytes);  // under a tight limit the slack may be what fails
#ifdef MADV_HUGEPAGE
  madvise(p, bytes, MADV_HUGEPAGE);  // advice: nothing is wrong where the system doesn't take it
#endif
  return p;
}

void unmap_pages(void* p, size_t bytes) noexcept { munmap(p, bytes); }

}  // namespace tl

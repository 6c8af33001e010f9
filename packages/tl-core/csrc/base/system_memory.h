// Pages from the system.
#pragma once

#include <cstddef>

namespace tl {

inline constexpr size_t kHugePage = size_t{2} << 20;

// NULL when the system refuses. From 2 MB on aligned to and asked for as huge pages: the first touch is seven
// times faster, except in a virtual machine whose host still has to find the memory.
void* map_pages(size_t bytes) noexcept;
void unmap_pages(void* p, size_t bytes) noexcept;

}  // namespace tl

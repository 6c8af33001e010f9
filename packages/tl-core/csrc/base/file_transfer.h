// Files read and written in parallel chunks, with the checksum of what passes taken while it is in the cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tl {

struct Transfer {
  uint32_t crc = 0;
  int error = 0;         // errno of the first chunk that failed
  bool ended = false;    // the file ends before the last byte
  uint64_t done_to = 0;  // how far it came, from the beginning of the memory
};

// `size` bytes of the file from `offset` on into memory.
Transfer read_file(int descriptor, int64_t offset, void* data, size_t size);
// `size` bytes of memory into the file from `offset` on.
Transfer write_file(int descriptor, int64_t offset, const void* data, size_t size);

}  // namespace tl

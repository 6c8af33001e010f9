// CRC-32 as ZIP, gzip and PNG have it (ISO 3309; polynomial 0x04C11DB7, reflected).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tl {

// The checksum of `size` bytes that follow those whose checksum is `before` (0: none).
uint32_t crc32(uint32_t before, const void* data, size_t size) noexcept;
// The same, split over the pool's threads.
uint32_t crc32_parallel(uint32_t before, const void* data, size_t size);
// The checksum of two parts one behind the other; `size` is that of the second.
uint32_t crc32_joined(uint32_t first, uint32_t second, uint64_t size) noexcept;
// Copies and gives the checksum of what was copied, in one go where the processor can.
uint32_t crc32_copied(void* to, const void* from, size_t size) noexcept;
bool can_copy_checked() noexcept;

}  // namespace tl

// Writing past the system's cache: large files reach the disk sooner, and the cache keeps what is read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tl {

// A second way into a file that is open for writing.
class DirectFile {
 public:
  static constexpr size_t kBlock = 1 << 20;  // large enough for the disk to be busy

  // Of no file (-1), and of one whose file system can't, it writes nothing.
  explicit DirectFile(int descriptor) noexcept;
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  // Writes a block at a multiple of its size, and gives its CRC-32. False if it didn't come to that, for
  // whatever reason: the usual way then does it, or tells why not. On any thread.
  bool write(int64_t offset, const char* block, uint32_t* crc) const noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace tl

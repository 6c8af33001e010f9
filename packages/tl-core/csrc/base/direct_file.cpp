// Direct I/O (O_DIRECT): blocks go through an aligned bounce buffer to the disk, with their CRC-32.
#include "base/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/crc32.h"
#include "base/error.h"
#include "base/reopen_file.h"

namespace tl {

#ifdef O_DIRECT

namespace {
constexpr size_t kAlignment = 4096;  // of memory and of places in the file; no disk asks for more

// Of the allocator, which keeps blocks: pages of the system's would be new for every megabyte.
class Bounce {
 public:
  Bounce() : memory_(static_cast<char*>(allocate(kSize))) {}
  ~Bounce() { deallocate(memory_, kSize); }
  Bounce(const Bounce&) = delete;
  Bounce& operator=(const Bounce&) = delete;

  char* block() const { return memory_ + -reinterpret_cast<uintptr_t>(memory_) % kAlignment; }

 private:
  static constexpr size_t kSize = DirectFile::kBlock + kAlignment;
  char* memory_;
};
}  // namespace

DirectFile::DirectFile(int descriptor) noexcept
    : descriptor_(descriptor < 0 ? -1 : reopened(descriptor, O_WRONLY | O_DIRECT)) {}

DirectFile::~DirectFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool DirectFile::write(int64_t offset, const char* block, uint32_t* crc) const noexcept {
  if (descriptor_ < 0) return false;
  try {
    const Bounce bounce;
    *crc = crc32_copied(bounce.block(), block, kBlock);
    return pwrite(descriptor_, bounce.block(), kBlock, offset) == static_cast<ssize_t>(kBlock);
  } catch (const Error&) {  // no memory is left, which is when people save
    return false;
  }
}

#else

DirectFile::DirectFile(int) noexcept {}
DirectFile::~DirectFile() = default;
bool DirectFile::write(int64_t, const char*, uint32_t*) const noexcept { return false; }

#endif

}  // namespace tl

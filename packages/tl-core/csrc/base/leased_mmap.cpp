// Mapped files under a read lease (fcntl F_SETLEASE): who would shorten the file is held up meanwhile.
#include "base/leased_mmap.h"

#ifdef __linux__
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/reopen_file.h"
#endif

namespace tl {

#ifdef __linux__

namespace {
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14
#endif
constexpr long kXfs = 0x58465342;

// Nobody can shorten the files of these but through this system.
bool is_local_file(int descriptor) {
  struct stat file;
  struct statfs system;
  if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode) || fstatfs(descriptor, &system) != 0)
    return false;
  const auto type = static_cast<long>(system.f_type);
  return type == EXT4_SUPER_MAGIC || type == kXfs || type == BTRFS_SUPER_MAGIC || type == TMPFS_MAGIC;
}

// A signal that does nothing where nobody asks for it tells of the lease's end; the usual one ends the
// process.
bool take_lease(int descriptor) {
  return fcntl(descriptor, F_SETSIG, SIGURG) == 0 && fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0;
}

int64_t length(int descriptor) {
  struct stat file;
  return fstat(descriptor, &file) == 0 ? static_cast<int64_t>(file.st_size) : 0;
}

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// On all pages of a part.
bool advise(const char* first, size_t size, int advice) {
  const size_t before = reinterpret_cast<uintptr_t>(first) % page_size();
  return madvise(const_cast<char*>(first - before), size + before, advice) == 0;
}
}  // namespace

LeasedMap::LeasedMap(int descriptor, int64_t offset, size_t size) noexcept {
  if (!is_local_file(descriptor)) return;
  // The lease and its signal are that of an open file, which others may share with the one given.
  descriptor_ = reopened(descriptor, O_RDONLY);
  if (descriptor_ < 0 || !take_lease(descriptor_) ||
      length(descriptor_) - offset < static_cast<int64_t>(size))
    return;
  const size_t before = static_cast<size_t>(offset) % page_size();
  mapped_ = size + before;
  map_ = mmap(nullptr, mapped_, PROT_READ, MAP_SHARED, descriptor_, offset - static_cast<int64_t>(before));
  if (map_ == MAP_FAILED) {
    map_ = nullptr;
    return;
  }
  madvise(map_, mapped_, MADV_DONTFORK);
  madvise(map_, mapped_, MADV_HUGEPAGE);  // what is not in the cache yet comes in large pages
  bytes_ = static_cast<const char*>(map_) + before;
}

LeasedMap::~LeasedMap() {
  if (map_) munmap(map_, mapped_);
  if (descriptor_ < 0) return;
  give_back();
  close(descriptor_);
}

bool LeasedMap::ready(int64_t at, size_t size) const noexcept {
  return advise(bytes_ + at, size, MADV_POPULATE_READ) && fcntl(descriptor_, F_GETLEASE) == F_RDLCK;
}

// What stays mapped counts as the process's memory.
void LeasedMap::let_go(int64_t at, size_t size) const noexcept { advise(bytes_ + at, size, MADV_DONTNEED); }

// Said aloud: a child forked meanwhile has the open file as well.
void LeasedMap::give_back() noexcept {
  fcntl(descriptor_, F_SETLEASE, F_UNLCK);
  bytes_ = nullptr;
}

#else

LeasedMap::LeasedMap(int, int64_t, size_t) noexcept {}
LeasedMap::~LeasedMap() = default;
bool LeasedMap::ready(int64_t, size_t) const noexcept { return false; }
void LeasedMap::let_go(int64_t, size_t) const noexcept {}
void LeasedMap::give_back() noexcept {}

#endif

}  // namespace tl

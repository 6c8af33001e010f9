// Parallel file transfer: chunks by pread and pwrite, each one's CRC-32 while it is in the cache, joined.
#include "base/file_transfer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/crc32.h"
#include "base/direct_file.h"
#include "base/leased_mmap.h"
#include "base/parallel.h"

namespace tl {

namespace {
constexpr int64_t kChunk = 1 << 20;
constexpr int64_t kPiece = 1 << 19;
constexpr size_t kMapped = 4 << 20;  // a map costs some microseconds
constexpr size_t kDirect = 4 << 20;  // less than that the system's cache takes at once
static_assert(kChunk == DirectFile::kBlock);

struct FilePart {
  uint32_t crc = 0;
  int error = 0;
  int64_t done = 0;
};

// Moves `size` bytes, a piece after the other, so that the checksum of each is taken while the cache holds
// it. `move(position, count)` moves some of a piece and returns how many; 0 means that the file has no more.
template <class F>
FilePart moved(const char* data, int64_t size, F&& move) {
  FilePart part;
  while (part.done < size) {
    const int64_t at = part.done;
    const ssize_t count = move(at, static_cast<size_t>(std::min(kPiece, size - at)));
    if (count == 0) break;
    if (count > 0) {
      part.crc = crc32(part.crc, data + at, static_cast<size_t>(count));
      part.done += count;
    } else if (errno != EINTR) {
      part.error = errno;
      break;
    }
  }
  return part;
}

// Parts end at round places of the file: what is written whole there the system keeps in large pages.
template <class F>
Transfer by_chunks(int64_t offset, int64_t size, F&& part_at) {
  const int64_t before = offset % kChunk;
  const auto offset_in = [&](int64_t at) { return std::clamp<int64_t>(at - before, 0, size); };
  std::vector<FilePart> parts(static_cast<size_t>((before + size + kChunk - 1) / kChunk));
  parallel_for(0, before + size, kChunk, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / kChunk)] = part_at(offset_in(begin), offset_in(end) - offset_in(begin));
  });
  Transfer all;
  int64_t end = 0;
  for (const FilePart& part : parts) {
    const int64_t wanted = offset_in(end += kChunk) - static_cast<int64_t>(all.done_to);
    all.crc = crc32_joined(all.crc, part.crc, static_cast<uint64_t>(part.done));
    all.done_to += static_cast<uint64_t>(part.done);
    all.error = part.error;
    all.ended = part.done < wanted && !part.error;
    if (part.done < wanted) break;
  }
  return all;
}
}  // namespace

// What the kernel copies comes at half the speed of a copy from a map.
Transfer read_file(int descriptor, int64_t offset, void* data, size_t size) {
  char* to = static_cast<char*>(data);
  std::optional<LeasedMap> map;
  if (size >= kMapped && can_copy_checked()) map.emplace(descriptor, offset, size);
  return by_chunks(offset, static_cast<int64_t>(size), [&](int64_t begin, int64_t n) {
    FilePart part{.done = n};
    const auto copy = [&](const char* from) {
      part.crc = crc32_copied(to + begin, from, static_cast<size_t>(n));
    };
    if (map && map->with(begin, static_cast<size_t>(n), copy)) return part;
    return moved(to + begin, n, [&](int64_t at, size_t count) {
      return pread(descriptor, to + begin + at, count, offset + begin + at);
    });
  });
}

Transfer write_file(int descriptor, int64_t offset, const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  const DirectFile direct(size >= kDirect ? descriptor : -1);
  return by_chunks(offset, static_cast<int64_t>(size), [&](int64_t begin, int64_t n) {
    FilePart part{.done = n};
    if (n == kChunk && direct.write(offset + begin, from + begin, &part.crc)) return part;
    return moved(from + begin, n, [&](int64_t at, size_t count) {
      return pwrite(descriptor, from + begin + at, count, offset + begin + at);
    });
  });
}

}  // namespace tl

// The arena: first fit over an ordered map of taken ranges; freed pages go back to the system.
#include "local/arena.h"

#include <sys/mman.h>

#include <utility>

namespace tl::distributed {

namespace {
constexpr int64_t kPage = 4096;
}

Arena::Arena(Mapping memory, int64_t pitch, int rank)
    : memory_(std::move(memory)), pitch_(pitch), rank_(rank) {}

int64_t Arena::offset_of(const void* data, int64_t bytes) const {
  const int64_t offset = static_cast<const char*>(data) - of(rank_);
  return offset >= 0 && offset + bytes <= pitch_ ? offset : -1;
}

char* Arena::take(int64_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  if (bytes == 0) bytes = kPage;  // a place of its own
  std::lock_guard lock(mutex_);
  int64_t at = 0;
  for (const auto& [offset, length] : taken_) {
    if (offset - at >= bytes) break;
    at = offset + length;
  }
  if (bytes > pitch_ - at) return nullptr;
  taken_.emplace(at, bytes);
  return of(rank_) + at;
}

void Arena::give_back(char* data) {
  std::lock_guard lock(mutex_);
  const auto found = taken_.find(data - of(rank_));
  madvise(data, static_cast<size_t>(found->second),
          MADV_REMOVE);  // the memory; who takes it again finds zeros
  taken_.erase(found);
}

}  // namespace tl::distributed

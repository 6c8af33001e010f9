// Point-to-point in shared memory: a single-producer ring of bytes for each pair of ranks.
#include "group/local_mail.h"

#include <algorithm>
#include <cstring>

namespace tl::distributed {

namespace {
constexpr int64_t kStep = 64 << 10;  // bytes after which the other side is notified
}  // namespace

int64_t LocalMail::write(int to, const char* from, int64_t most) {
  MailRing& ring = segment_.ring(segment_.rank(), to);
  char* data = segment_.ring_data(segment_.rank(), to);
  const uint64_t at = ring.written.load(std::memory_order_relaxed);
  const int64_t room = kMailBytes - static_cast<int64_t>(at - ring.read.load(std::memory_order_acquire));
  const int64_t inside = static_cast<int64_t>(at % kMailBytes);
  const int64_t bytes = std::min({most, room, kMailBytes - inside, kStep});
  if (bytes <= 0) return 0;
  std::memcpy(data + inside, from, static_cast<size_t>(bytes));
  ring.written.store(at + static_cast<uint64_t>(bytes), std::memory_order_release);
  return bytes;
}

int64_t LocalMail::read(int from, char* to, int64_t most) {
  MailRing& ring = segment_.ring(from, segment_.rank());
  const char* data = segment_.ring_data(from, segment_.rank());
  const uint64_t at = ring.read.load(std::memory_order_relaxed);
  const int64_t there = static_cast<int64_t>(ring.written.load(std::memory_order_acquire) - at);
  const int64_t inside = static_cast<int64_t>(at % kMailBytes);
  const int64_t bytes = std::min({most, there, kMailBytes - inside, kStep});
  if (bytes <= 0) return 0;
  std::memcpy(to, data + inside, static_cast<size_t>(bytes));
  ring.read.store(at + static_cast<uint64_t>(bytes), std::memory_order_release);
  return bytes;
}

void LocalMail::check_peer(int rank, const Call& call) {
  const MailRing& ring = segment_.ring(rank, segment_.rank());
  const bool has_unread = ring.written.load() != ring.read.load();
  if (call.kind != Kind::kReceive || !has_unread) segment_.check_peer(rank, call);
}

}  // namespace tl::distributed

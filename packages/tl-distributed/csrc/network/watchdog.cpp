// Failure detection: a thread polls a connection to each rank; the first failure or death counts.
#include "network/watchdog.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/failure.h"
#include "base/forks.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr int64_t kLongest = 4096;     // of a notice's text
constexpr int kLookAtNeighbours = 50;  // milliseconds

void ring(const Descriptor& bell) {
  const uint64_t one = 1;
  static_cast<void>(!write(bell.get(), &one, sizeof one));
}

// For how many milliseconds nothing has come over a connection; 0 where the kernel does not say. A reset is
// no packet of its own: the process ended with unread notices, so after a failure.
int64_t silent_for(const Descriptor& connection) {
  pollfd state = {connection.get(), 0, 0};
  tcp_info facts{};
  socklen_t size = sizeof facts;
  if ((poll(&state, 1, 0) > 0 && state.revents & POLLERR) ||
      getsockopt(connection.get(), IPPROTO_TCP, TCP_INFO, &facts, &size) != 0)
    return 0;
  return facts.tcpi_last_ack_recv;
}
}  // namespace

Watchdog::Watchdog(std::vector<Descriptor> links, DeathText death_text, Neighbours neighbours)
    : forks_(fork_count()),
      links_(std::move(links)),
      partial_(links_.size()),
      death_text_(std::move(death_text)),
      neighbours_(std::move(neighbours)),
      alarm_(eventfd(0, EFD_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      left_(links_.size()) {
  if (!alarm_ || !stop_) throw Error(TL_ERROR_RUNTIME, std::string("eventfd: ") + std::strerror(errno));
  thread_ = std::thread([this] { work(); });
}

Watchdog::~Watchdog() {
  if (fork_count() != forks_) {  // the thread stayed in the parent
    thread_.detach();
    return;
  }
  ring(stop_);
  thread_.join();
}

std::string Watchdog::failure() const {
  std::lock_guard lock(mutex_);
  return text_;
}

void Watchdog::fail(const std::string& text) {
  if (note_failure(text)) send_notice(NoticeKind::kFailure, text.substr(0, kLongest));
}

// False: another one was first.
bool Watchdog::note_failure(const std::string& text) {
  {
    std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return false;
    text_ = text.substr(0, kLongest);
    failed_.store(true, std::memory_order_release);
  }
  ring(alarm_);
  if (neighbours_.tell) neighbours_.tell(text);
  return true;
}

// With the failure because of which it may leave: the notice of the first failed rank arrives on another
// connection, and perhaps later.
void Watchdog::leave() {
  if (has_failed()) send_notice(NoticeKind::kFailure, failure());
  send_notice(NoticeKind::kLeft, "");
}

// To all other ranks. A notice is small: a connection without room for it has no reader.
void Watchdog::send_notice(NoticeKind kind, const std::string& text) {
  const Notice notice = {kind, static_cast<int32_t>(text.size())};
  std::string bytes(reinterpret_cast<const char*>(&notice), sizeof notice);
  bytes += text;
  std::lock_guard lock(mutex_);
  for (const Descriptor& link : links_) {
    if (!link) continue;
    try {
      send_some(link.get(), bytes.data(), static_cast<int64_t>(bytes.size()));
    } catch (const Failure&) {
      // Its rank is gone, which the thread notices, too.
    }
  }
}

void Watchdog::work() {
  std::vector<pollfd> watched;
  for (const Descriptor& link : links_) watched.push_back({link.get(), POLLIN, 0});
  for (const int pidfd : neighbours_.pidfds) watched.push_back({pidfd, POLLIN, 0});
  watched.push_back({stop_.get(), POLLIN, 0});
  const int slice = neighbours_.failure ? kLookAtNeighbours : -1;
  while (true) {
    if (poll(watched.data(), watched.size(), slice) < 0) continue;
    if (watched.back().revents) return;
    look_at_neighbours(watched);
    look_for_deaths(watched);
  }
}

void Watchdog::look_for_deaths(std::vector<pollfd>& watched) {
  std::vector<size_t> dead;
  for (size_t rank = 0; rank < links_.size(); ++rank) {
    if (!watched[rank].revents || listen(rank)) continue;
    watched[rank].fd = -1;
    if (!has_left(static_cast<int>(rank))) dead.push_back(rank);
  }
  if (dead.empty()) return;
  const size_t first = first_of(dead);
  const std::string text = death_text_(static_cast<int>(first), silent_for(links_[first]));
  if (!text.empty()) fail(text);
}

void Watchdog::look_at_neighbours(std::vector<pollfd>& watched) {
  for (size_t i = 0; i < neighbours_.pidfds.size(); ++i) {
    pollfd& pidfd = watched[links_.size() + i];
    if (!pidfd.revents) continue;
    pidfd.fd = -1;
    const std::string text = neighbours_.death_text(i);
    if (!text.empty()) fail(text);
  }
  if (!neighbours_.failure || has_failed()) return;
  const std::string text = neighbours_.failure();
  if (!text.empty()) fail(text);
}

// False: that connection has ended.
bool Watchdog::listen(size_t rank) {
  std::array<char, kLongest> room;
  std::string& partial = partial_[rank];
  try {
    const int64_t got = receive_some(links_[rank].get(), room.data(), static_cast<int64_t>(room.size()));
    partial.append(room.data(), static_cast<size_t>(got));
  } catch (const Failure&) {
    return false;
  }
  Notice notice;
  while (partial.size() >= sizeof notice) {
    std::memcpy(&notice, partial.data(), sizeof notice);
    const size_t whole = sizeof notice + static_cast<size_t>(notice.length);
    if (partial.size() < whole) break;
    read_notice(notice.kind, rank, partial.substr(sizeof notice, whole - sizeof notice));
    partial.erase(0, whole);
  }
  return true;
}

void Watchdog::read_notice(NoticeKind kind, size_t rank, const std::string& text) {
  if (kind == NoticeKind::kLeft)
    left_[rank].store(true, std::memory_order_release);
  else
    note_failure(text);  // the failed rank has notified all
}

// The rank that died first of those that did since the last look: others may have been ended because of it,
// by an agent beside them. Nothing comes after a process has ended, and the kernel knows when the last packet
// came.
size_t Watchdog::first_of(const std::vector<size_t>& dead) const {
  return *std::max_element(dead.begin(), dead.end(),
                           [&](size_t a, size_t b) { return silent_for(links_[a]) < silent_for(links_[b]); });
}

}  // namespace tl::distributed

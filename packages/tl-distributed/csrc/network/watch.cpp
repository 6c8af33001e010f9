// Failure detection: a thread polls the watch connections; rank 0 passes on the first failure and all ends.
#include "network/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/failure.h"
#include "base/forks.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr int64_t kLongest = 4096;           // of a notice's text
constexpr int64_t kWordComes = 500'000'000;  // what happens to a connection is explained within that time
constexpr useconds_t kLookAgain = 1000;      // microseconds

void ring(const Descriptor& bell) {
  const uint64_t one = 1;
  static_cast<void>(!write(bell.get(), &one, sizeof one));
}
}  // namespace

Watch::Watch(int rank, int size, std::vector<Descriptor> links, Died died)
    : rank_(rank),
      forks_(fork_count()),
      links_(std::move(links)),
      come_(links_.size()),
      died_(std::move(died)),
      alarm_(eventfd(0, EFD_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      left_(static_cast<size_t>(size)) {
  if (!alarm_ || !stop_) throw Error(TL_ERROR_RUNTIME, std::string("eventfd: ") + std::strerror(errno));
  thread_ = std::thread([this] { work(); });
}

Watch::~Watch() {
  if (fork_count() != forks_) {  // the thread stayed in the parent
    thread_.detach();
    return;
  }
  ring(stop_);
  thread_.join();
}

std::string Watch::failure() const {
  std::lock_guard lock(mutex_);
  return text_;
}

void Watch::fail(const std::string& text) { note_failure(text, -1); }

void Watch::note_failure(const std::string& text, int except) {
  {
    std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return;
    text_ = text.substr(0, kLongest);
    failed_.store(true, std::memory_order_release);
  }
  ring(alarm_);
  tell(Word::kFailure, rank_, text.substr(0, kLongest), except);
}

void Watch::leave() { tell(Word::kLeft, rank_, "", -1); }

void Watch::await_word_of(int rank) const {
  const int64_t end = now_ns() + kWordComes;
  while (!has_failed() && !has_left(rank) && now_ns() < end) usleep(kLookAgain);
}

// To rank 0, or from it to all others. A notice is small: if a connection has no room for it, nobody reads
// there.
void Watch::tell(Word word, int about, const std::string& text, int except) {
  const Notice notice = {word, about, static_cast<int32_t>(text.size())};
  std::string bytes(reinterpret_cast<const char*>(&notice), sizeof notice);
  bytes += text;
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!links_[i] || rank_of(i) == except) continue;
    try {
      send_some(links_[i].get(), bytes.data(), static_cast<int64_t>(bytes.size()));
    } catch (const Failure&) {
      // It has gone; the thread sees that, too.
    }
  }
}

void Watch::work() {
  std::vector<pollfd> watched(links_.size() + 1);
  watched[links_.size()] = {stop_.get(), POLLIN, 0};
  for (size_t i = 0; i < links_.size(); ++i) watched[i] = {links_[i].get(), POLLIN, 0};
  while (true) {
    if (poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[links_.size()].revents) return;
    for (size_t i = 0; i < links_.size(); ++i) {
      if (!watched[i].revents || listen(i)) continue;
      watched[i].fd = -1;
      ended(i);
    }
  }
}

// False: that connection has ended.
bool Watch::listen(size_t link) {
  std::array<char, kLongest> room;
  std::string& come = come_[link];
  try {
    const int64_t got = receive_some(links_[link].get(), room.data(), static_cast<int64_t>(room.size()));
    come.append(room.data(), static_cast<size_t>(got));
  } catch (const Failure&) {
    return false;
  }
  Notice notice;
  while (come.size() >= sizeof notice) {
    std::memcpy(&notice, come.data(), sizeof notice);
    if (come.size() < sizeof notice + static_cast<size_t>(notice.length)) break;
    const std::string text = come.substr(sizeof notice, static_cast<size_t>(notice.length));
    come.erase(0, sizeof notice + static_cast<size_t>(notice.length));
    if (notice.word == Word::kFailure) {
      note_failure(text, rank_ == 0 ? rank_of(link) : 0);
    } else {
      left_[static_cast<size_t>(notice.rank)].store(true, std::memory_order_release);
      if (rank_ == 0) tell(Word::kLeft, notice.rank, "", notice.rank);
    }
  }
  return true;
}

void Watch::ended(size_t link) {
  const int rank = rank_of(link);
  if (!has_left(rank)) note_failure(died_(rank, *this), rank);
}

}  // namespace tl::distributed

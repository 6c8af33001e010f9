// The watchdog of a group over a network: a thread that listens to each other rank on a connection of its
// own. A rank sends all others a notice of its first failure and a notice that it leaves. A connection that
// ends without the second notice counts as a death.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/socket.h"

namespace tl::distributed {

class Watchdog {
 public:
  // The error text for the death of a rank of which nothing has come for some milliseconds.
  using DeathText = std::function<std::string(int, int64_t)>;
  // The other ranks of this machine, watched by their processes.
  struct Neighbours {
    std::vector<int> pidfds;
    std::function<std::string(size_t)> death_text;  // empty: it has left
    std::function<void(const std::string&)> tell;   // the first failure
    std::function<std::string()> failure;           // of a rank without connections; empty: none
  };
  Watchdog(std::vector<Descriptor> links, DeathText death_text, Neighbours neighbours = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  std::string failure() const;
  void fail(const std::string& text);  // the first one counts
  void leave();
  bool has_left(int rank) const { return left_[static_cast<size_t>(rank)].load(std::memory_order_acquire); }
  int alarm() const { return alarm_.get(); }  // readable from the first failure on

 private:
  enum class NoticeKind : int32_t { kFailure, kLeft };
  struct Notice {
    NoticeKind kind;
    int32_t length;
  };
  void work();
  void look_for_deaths(std::vector<pollfd>& watched);
  void look_at_neighbours(std::vector<pollfd>& watched);
  bool listen(size_t rank);
  void read_notice(NoticeKind kind, size_t rank, const std::string& text);
  size_t first_of(const std::vector<size_t>& dead) const;
  void send_notice(NoticeKind kind, const std::string& text);
  bool note_failure(const std::string& text);

  int forks_;
  std::vector<Descriptor> links_;     // by rank, whose own is empty
  std::vector<std::string> partial_;  // of each rank, an incomplete notice
  DeathText death_text_;
  Neighbours neighbours_;
  Descriptor alarm_, stop_;
  mutable std::mutex mutex_;
  std::string text_;
  std::atomic<bool> failed_{false};
  std::vector<std::atomic<bool>> left_;
  std::thread thread_;
};

}  // namespace tl::distributed

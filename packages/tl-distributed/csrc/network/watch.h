// Who of a group over a network is still there, and what went wrong first: a thread that listens to each
// other rank on a connection of its own. A rank tells all others of its first failure, and that it leaves;
// where a connection ends without that word, its rank has died.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/socket.h"

namespace tl::distributed {

class Watch {
 public:
  using Died = std::function<std::string(int)>;  // words the death of a rank
  Watch(std::vector<Descriptor> links, Died died);
  ~Watch();
  Watch(const Watch&) = delete;

  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  std::string failure() const;
  void fail(const std::string& text);  // the first one counts
  void leave();
  bool has_left(int rank) const { return left_[static_cast<size_t>(rank)].load(std::memory_order_acquire); }
  int alarm() const { return alarm_.get(); }  // readable from the first failure on
  // A connection to that rank has ended: waits until somebody says why, for a moment.
  void await_word_of(int rank) const;

 private:
  enum class Word : int32_t { kFailure, kLeft };
  struct Notice {
    Word word;
    int32_t length;
  };
  void work();
  bool listen(size_t rank);
  void hear(Word word, size_t rank, const std::string& text);
  size_t first_of(const std::vector<size_t>& dead) const;
  void tell(Word word, const std::string& text);
  bool note_failure(const std::string& text);

  int forks_;
  std::vector<Descriptor> links_;  // by rank, whose own is empty
  std::vector<std::string> come_;  // of each rank, what is no whole notice yet
  Died died_;
  Descriptor alarm_, stop_;
  mutable std::mutex mutex_;
  std::string text_;
  std::atomic<bool> failed_{false};
  std::vector<std::atomic<bool>> left_;
  std::thread thread_;
};

}  // namespace tl::distributed

// Who of a group over a network is still there, and what went wrong first: a thread that listens to rank 0,
// which listens to all. Rank 0 tells all others of the first failure, of deaths (a connection that ends
// without a word) and of ranks that leave.
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
  // Words the death of the rank whose connection has ended.
  using Died = std::function<std::string(int, const Watch&)>;
  // `links`: on rank 0 one a rank, whose own is empty; elsewhere that to rank 0.
  Watch(int rank, int size, std::vector<Descriptor> links, Died died);
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
    int32_t rank, length;
  };
  void work();
  bool listen(size_t link);
  void ended(size_t link);
  void tell(Word word, int about, const std::string& text, int except);
  void note_failure(const std::string& text, int except);
  int rank_of(size_t link) const { return links_.size() == 1 ? 0 : static_cast<int>(link); }

  const int rank_;
  int forks_;
  std::vector<Descriptor> links_;
  std::vector<std::string> come_;
  Died died_;
  Descriptor alarm_, stop_;
  mutable std::mutex mutex_;
  std::string text_;
  std::atomic<bool> failed_{false};
  std::vector<std::atomic<bool>> left_;
  std::thread thread_;
};

}  // namespace tl::distributed

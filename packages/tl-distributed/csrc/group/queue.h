// The collectives of a group, one after the other: in a thread of its own, or in the caller's if nothing
// waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "group/task.h"

namespace tl::distributed {

class Queue {
 public:
  Queue() = default;
  ~Queue() {
    stop(0, [] {});
  }
  Queue(const Queue&) = delete;

  void push(std::shared_ptr<Task> task, int64_t limit);
  // Runs it here and now if nothing is under way; false: it wasn't run.
  bool run_here(Task& task, int64_t limit);
  // Runs the next one here if the thread has not begun with it; false: there is none, or one is under way.
  bool help();
  // Ends the thread after what has been pushed is over; calls `late` if that takes longer than `ns`.
  void stop(int64_t ns, const std::function<void()>& late);

 private:
  struct Entry {
    std::shared_ptr<Task> task;
    int64_t limit;
  };
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> waiting_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tl::distributed

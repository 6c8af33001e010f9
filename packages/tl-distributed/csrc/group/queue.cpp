// The queue of collectives: run in the caller's thread where nothing waits, else in order by the group's own.
#include "group/queue.h"

#include <chrono>

#include "base/clock.h"

namespace tl::distributed {

namespace {
Deadline deadline_of(int64_t limit, bool interruptible) { return {now_ns() + limit, limit, interruptible}; }
}  // namespace

void Queue::push(std::shared_ptr<Task> task, int64_t limit) {
  {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    waiting_.push_back({std::move(task), limit});
  }
  changed_.notify_all();
}

bool Queue::run_here(Task& task, int64_t limit) {
  {
    std::lock_guard lock(mutex_);
    if (busy_ || !waiting_.empty()) return false;
    busy_ = true;
  }
  task.run(deadline_of(limit, true));
  {
    std::lock_guard lock(mutex_);
    busy_ = false;
    if (waiting_.empty()) return true;
  }
  changed_.notify_all();
  return true;
}

bool Queue::help() {
  Entry next;
  {
    std::lock_guard lock(mutex_);
    if (busy_ || waiting_.empty()) return false;
    next = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
  }
  next.task->run(deadline_of(next.limit, true));
  {
    std::lock_guard lock(mutex_);
    busy_ = false;
  }
  changed_.notify_all();
  return true;
}

void Queue::stop(int64_t ns, const std::function<void()>& late) {
  bool idle;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    idle =
        changed_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return !busy_ && waiting_.empty(); });
  }
  if (!idle) late();
  if (thread_.joinable()) thread_.join();
}

void Queue::work() {
  api().set_grad_enabled(0);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return (!busy_ && !waiting_.empty()) || (stopping_ && waiting_.empty()); });
    if (waiting_.empty()) return;
    Entry next = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    next.task->run(deadline_of(next.limit, false));
    next.task.reset();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace tl::distributed

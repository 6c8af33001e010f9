// Tasks: a state under a lock, an exception for the waiting threads, callbacks at the end.
#include "group/task.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/clock.h"

namespace tl::distributed {

struct PortableError::State {
  TlErrorKind kind;
  std::string message;
  std::atomic<void*> error;
  ~State() {
    if (void* left = error.exchange(nullptr)) api().error_drop(left);
  }
};

PortableError::PortableError() : state_(std::make_shared<State>()) {
  state_->kind = static_cast<TlErrorKind>(api().error_kind());
  state_->message = api().error_message();
  state_->error = api().error_take();
}

void PortableError::rethrow() const {
  if (void* whole = state_->error.exchange(nullptr)) {
    api().error_restore(whole);
    throw Pending();
  }
  throw Error(state_->kind, state_->message);
}

std::exception_ptr portable_exception() noexcept {
  try {
    throw;
  } catch (const Pending&) {
    return std::make_exception_ptr(PortableError());
  } catch (...) {
    return std::current_exception();
  }
}

void Task::run(const Deadline& deadline) noexcept {
  std::exception_ptr error;
  try {
    body_(deadline);
  } catch (...) {
    error = portable_exception();
  }
  finish(error);
}

void Task::finish(std::exception_ptr error) noexcept {
  std::vector<Callback> callbacks;
  Body body;  // lets go of the tensors, outside of the lock
  {
    std::lock_guard lock(mutex_);
    error_ = std::move(error);
    done_ = true;
    callbacks.swap(callbacks_);
    body.swap(body_);
  }
  changed_.notify_all();
  for (const Callback& callback : callbacks) callback();
}

bool Task::is_done() const {
  std::lock_guard lock(mutex_);
  return done_;
}

bool Task::wait(int64_t ns) {
  constexpr int64_t kSlice = 50'000'000;
  const int64_t end = ns < 0 ? INT64_MAX : now_ns() + ns;
  std::unique_lock lock(mutex_);
  while (!done_) {
    const int64_t left = end - now_ns();
    if (left <= 0) return false;
    changed_.wait_for(lock, std::chrono::nanoseconds(std::min(left, kSlice)));
    if (done_) break;
    lock.unlock();
    if (api().interrupted()) throw Pending();
    lock.lock();
  }
  return true;
}

std::exception_ptr Task::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

void Task::rethrow() const {
  std::exception_ptr exception = error();
  if (!exception) return;
  try {
    std::rethrow_exception(exception);
  } catch (const PortableError& portable) {
    portable.rethrow();
  }
}

void Task::on_done(Callback callback) {
  {
    std::lock_guard lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

}  // namespace tl::distributed

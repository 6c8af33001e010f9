// An operation that is under way, or over.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "local/segment.h"
#include "tl/tl.hpp"

namespace tl::distributed {

// The pending error of a thread, for another one. The first thread that raises it raises all of it, such as a
// Python exception. Later ones raise its message.
class PortableError {
 public:
  PortableError();  // moves this thread's error out
  [[noreturn]] void rethrow() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The exception that is being handled, as one that may travel.
std::exception_ptr portable_exception() noexcept;

class Task {
 public:
  using Body = std::function<void(const Deadline&)>;
  using Callback = std::function<void()>;

  explicit Task(Body body) : body_(std::move(body)) {}

  void run(const Deadline& deadline) noexcept;
  bool is_done() const;
  // Whether it is over within that time; negative: as long as it takes. Looks for Ctrl-C.
  bool wait(int64_t ns);
  void rethrow() const;  // the error of the operation, if it failed
  std::exception_ptr error() const;
  void on_done(Callback callback);  // called at once if it is over
  void finish(std::exception_ptr error) noexcept;

  int source = -1;  // of a message: the sender's rank in the group

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Body body_;
  bool done_ = false;
  std::exception_ptr error_;
  std::vector<Callback> callbacks_;
};

}  // namespace tl::distributed

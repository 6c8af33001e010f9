// A group of ranks: its collectives and messages, with tensors.
#pragma once

#include <memory>

#include "group/engine.h"
#include "group/messages.h"
#include "group/queue.h"

namespace tl::distributed {

class Group : public std::enable_shared_from_this<Group> {
 public:
  Group(Engine engine, int64_t limit);
  ~Group();
  // A forked child leaves it alone: its threads, locks and connections are the parent's.
  static std::shared_ptr<Group> make(Engine engine, int64_t limit);

  int rank() const { return rank_; }
  int size() const { return size_; }
  int64_t limit = 0;  // nanoseconds that an operation may take

  // Runs the body in the order of the calls; the task is over if `wait`.
  using Body = std::function<void(Collectives&, const Deadline&)>;
  std::shared_ptr<Task> run(Body body, bool wait, int64_t limit = -1);

  // Waits for a task of `run`, and runs the tasks here that the group's thread has not begun with.
  void finish(Task& task);

  std::shared_ptr<Task> all_reduce(Tensor tensor, Reduction reduction, int root, bool wait);
  std::shared_ptr<Task> send(Tensor tensor, int peer, int64_t tag, bool wait);
  std::shared_ptr<Task> receive(Tensor tensor, int peer, int64_t tag, bool wait);

  // Zeros; in this rank's arena where ranks share memory, at the same offset on every rank if all ask in the
  // same order.
  Tensor arena_empty(Span sizes, int64_t dtype);

  void abort(const std::string& why);
  void close();
  const Mesh* mesh() const { return engine_.mesh; }
  bool has_failed() const { return engine_.members->has_failed(); }
  Membership& members() { return *engine_.members; }

 private:
  void check_usable() const;
  std::shared_ptr<Task> message(Tensor tensor, int peer, int64_t tag, bool wait, bool sends);

  int rank_, size_, forks_;
  bool closed_ = false;
  Engine engine_;
  Queue queue_;
  std::unique_ptr<Messages> messages_;
};

}  // namespace tl::distributed

#include "group/group.h"

#include "base/failure.h"
#include "group/forks.h"
#include "group/staged.h"

namespace tl::distributed {

namespace {
constexpr int64_t kCloseAfter = 5'000'000'000;  // what is still under way then fails
constexpr int64_t kTryAgain = 1'000'000'000;
}  // namespace

Group::Group(std::unique_ptr<Segment> segment, int64_t limit_ns)
    : limit(limit_ns),
      rank_(segment->rank()),
      size_(segment->size()),
      forks_(fork_count()),
      collectives_(std::move(segment)) {
  messages_ = std::make_unique<Messages>(collectives_.segment());
}

Group::~Group() {
  if (fork_count() == forks_) close();
}

void Group::check_usable() const {
  if (fork_count() != forks_)
    throw Failure(FailureKind::kBackend,
                  "this process was forked after its group had been made, and is no rank of it; call "
                  "init_process_group in the child, or start processes with spawn");
  if (closed_) throw Failure(FailureKind::kBackend, "the group has been destroyed");
}

std::shared_ptr<Task> Group::run(Body body, bool wait, int64_t limit_ns) {
  check_usable();
  if (limit_ns < 0) limit_ns = limit;
  auto task = std::make_shared<Task>(
      [this, body = std::move(body)](const Patience& patience) { body(collectives_, patience); });
  if (wait && queue_.run_here(*task, limit_ns)) {
    task->rethrow();
    return task;
  }
  queue_.push(task, limit_ns);
  if (wait) {
    finish(*task);
    task->rethrow();
  }
  return task;
}

void Group::finish(Task& task) {
  while (!task.is_done())
    if (!queue_.help()) task.wait(kTryAgain);
}

std::shared_ptr<Task> Group::all_reduce(Tensor tensor, Reduction reduction, int root, bool wait) {
  return run(
      [tensor = std::move(tensor), reduction, root](Collectives& c, const Patience& patience) {
        const Staged staged(tensor, Staged::Use::kUpdate);
        c.all_reduce(staged.piece(), tensor.dtype(), reduction, root, patience);
        staged.give_back();
      },
      wait);
}

std::shared_ptr<Task> Group::send(Tensor tensor, int peer, int64_t tag, bool wait) {
  return message(std::move(tensor), peer, tag, wait, true);
}

std::shared_ptr<Task> Group::receive(Tensor tensor, int peer, int64_t tag, bool wait) {
  return message(std::move(tensor), peer, tag, wait, false);
}

std::shared_ptr<Task> Group::message(Tensor tensor, int peer, int64_t tag, bool wait, bool sends) {
  check_usable();
  if (peer == rank_)
    throw Error(TL_ERROR_RUNTIME,
                "a rank cannot send to or receive from itself: nothing connects it to itself");
  auto staged = std::make_shared<Staged>(tensor, sends ? Staged::Use::kRead : Staged::Use::kWrite);
  auto message = std::make_shared<Message>();
  message->data = staged->piece();
  message->dtype = tensor.dtype();
  message->tag = tag;
  message->peer = peer;
  message->limit = limit;
  message->task = std::make_shared<Task>([staged](const Patience&) {});
  message->task->on_done([staged] { staged->give_back(); });
  if (sends)
    messages_->send(message);
  else
    messages_->receive(message);
  if (wait) {
    messages_->wait_here(message);
    message->task->rethrow();
  } else if (!message->task->is_done()) {
    messages_->start_thread();
  }
  return message->task;
}

Tensor Group::arena_empty(Span sizes, int64_t dtype) {
  check_usable();
  std::lock_guard lock(arena_mutex_);
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  const int64_t bytes = (count * size_of_dtype(dtype) + 4095) / 4096 * 4096;
  std::shared_ptr<Segment::Arena> arena = segment().arena();
  if (bytes > arena->pitch - arena_used_)
    throw Error(TL_ERROR_OUT_OF_MEMORY, "the arena of group " + segment().group_name() + " has no room for " +
                                            std::to_string(bytes) + " bytes");
  std::vector<int64_t> strides(static_cast<size_t>(sizes.size()), 1);
  for (int i = sizes.size() - 2; i >= 0; --i)
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * sizes[i + 1];
  auto* keep = new std::shared_ptr<Segment::Arena>(arena);
  TlTensor* made = api().tensor_from_memory(
      arena->of(rank_) + arena_used_, sizes.size(), sizes.data(), strides.data(), dtype, kCpu,
      [](void* ctx) { delete static_cast<std::shared_ptr<Segment::Arena>*>(ctx); }, keep);
  arena_used_ += bytes;
  return Tensor::adopt(check(made));
}

void Group::abort(const std::string& why) {
  segment().poison(segment().describe(rank_) + " aborted the group" + (why.empty() ? "" : ": " + why));
}

bool Group::has_failed() const { return const_cast<Collectives&>(collectives_).segment().has_failed(); }

void Group::close() {
  if (closed_) return;
  closed_ = true;
  queue_.stop(kCloseAfter, [this] { segment().poison(segment().describe(rank_) + " destroyed the group"); });
  messages_->stop();
  segment().leave();
}

}  // namespace tl::distributed

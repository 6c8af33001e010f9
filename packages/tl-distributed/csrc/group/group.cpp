// Process groups: checks tensors, numbers the call and queues it on the group's engine.
#include "group/group.h"

#include "base/failure.h"
#include "base/forks.h"
#include "group/dense_buffer.h"

namespace tl::distributed {

namespace {
constexpr int64_t kCloseAfter = 5'000'000'000;  // pending operations then fail
constexpr int64_t kTryAgain = 1'000'000'000;

Tensor zeros(Span sizes, int64_t dtype) {
  static const TlOperator* const op = check(api().op_find("zero_"));
  Tensor result = Tensor::empty(sizes, dtype);
  const TlValue arg = value(result);
  TlValue ret = none();
  check(api().op_call(op, &arg, 1, &ret, 1));
  api().value_release(&ret);
  return result;
}
}  // namespace

Group::Group(Engine engine, int64_t limit_ns)
    : limit(limit_ns),
      rank_(engine.members->rank()),
      size_(engine.members->size()),
      forks_(fork_count()),
      engine_(std::move(engine)) {
  messages_ = std::make_unique<Messages>(*engine_.mail);
}

Group::~Group() { close(); }

std::shared_ptr<Group> Group::make(Engine engine, int64_t limit) {
  return {new Group(std::move(engine), limit), [](Group* group) {
            if (fork_count() == group->forks_) delete group;
          }};
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
      [this, body = std::move(body)](const Deadline& deadline) { body(*engine_.collectives, deadline); });
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
      [tensor = std::move(tensor), reduction, root](Collectives& c, const Deadline& deadline) {
        const DenseBuffer buffer(tensor, DenseBuffer::Use::kUpdate);
        c.all_reduce(buffer.piece(), tensor.dtype(), reduction, root, deadline);
        buffer.give_back();
      },
      wait);
}

std::shared_ptr<Task> Group::send(Tensor tensor, int peer, int64_t tag, bool wait) {
  return message(std::move(tensor), peer, tag, wait, true);
}

std::shared_ptr<Task> Group::receive(Tensor tensor, int peer, int64_t tag, bool wait) {
  return message(std::move(tensor), peer, tag, wait, false);
}

// The caller moves messages while it waits; otherwise the group's thread does.
std::shared_ptr<Task> Group::message(Tensor tensor, int peer, int64_t tag, bool wait, bool sends) {
  check_usable();
  if (peer == rank_)
    throw Error(TL_ERROR_RUNTIME,
                "a rank cannot send to or receive from itself: nothing connects it to itself");
  auto buffer =
      std::make_shared<DenseBuffer>(tensor, sends ? DenseBuffer::Use::kRead : DenseBuffer::Use::kWrite);
  auto message = std::make_shared<Message>();
  message->data = buffer->piece();
  message->dtype = tensor.dtype();
  message->tag = tag;
  message->peer = peer;
  message->limit = limit;
  // A waiting thread sees the tensor as the task leaves it, so the task ends with the copy to the tensor.
  message->task = std::make_shared<Task>([buffer](const Deadline&) { buffer->give_back(); });
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

// A tensor in the memory that the group's ranks share, given back with its storage; ordinary memory where
// there is none.
Tensor Group::arena_empty(Span sizes, int64_t dtype) {
  check_usable();
  if (!engine_.memory) return zeros(sizes, dtype);
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  const int64_t bytes = count * size_of_dtype(dtype);
  struct Block {
    std::shared_ptr<Arena> arena;
    char* data;
  };
  std::shared_ptr<Arena> arena = engine_.memory->arena();
  char* data = arena->take(bytes);
  if (!data)
    throw Error(TL_ERROR_OUT_OF_MEMORY, "the arena of group " + members().group_name() + " has no room for " +
                                            std::to_string(bytes) + " bytes");
  std::vector<int64_t> strides(static_cast<size_t>(sizes.size()), 1);
  for (int i = sizes.size() - 2; i >= 0; --i)
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * sizes[i + 1];
  return Tensor::adopt(check(api().tensor_from_memory(
      data, sizes.size(), sizes.data(), strides.data(), dtype, kCpu,
      [](void* ctx) {
        const std::unique_ptr<Block> block(static_cast<Block*>(ctx));
        block->arena->give_back(block->data);
      },
      new Block{arena, data})));
}

void Group::abort(const std::string& why) {
  if (fork_count() != forks_) return;
  members().poison(members().describe(rank_) + " aborted the group" + (why.empty() ? "" : ": " + why));
}

void Group::close() {
  if (closed_ || fork_count() != forks_) return;
  closed_ = true;
  queue_.stop(kCloseAfter, [this] { members().poison(members().describe(rank_) + " destroyed the group"); });
  messages_->stop();
  members().leave();
}

}  // namespace tl::distributed

// Point-to-point messages: matched by sender and tag, moved by a waiting thread, stored without one.
#include "group/messages.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/failure.h"

namespace tl::distributed {

namespace {
constexpr int64_t kStep = 64 << 10;        // bytes after which the other side is notified
constexpr int64_t kLookEvery = 2'000'000;  // nanoseconds
constexpr int64_t kSlice = 2'000'000;
constexpr int64_t kHeader = 32;
constexpr int64_t kStopAfter = 1'000'000'000;  // pending messages then fail
}  // namespace

Messages::Messages(Mail& mail)
    : mail_(mail),
      members_(mail.members()),
      outgoing_(static_cast<size_t>(members_.size())),
      incoming_(static_cast<size_t>(members_.size())),
      stored_(static_cast<size_t>(members_.size())) {
  static_assert(sizeof(Header) == kHeader);
}

Messages::~Messages() { stop(); }

Call Messages::call_of(const Message& message, Kind kind) const {
  Call call;
  call.kind = kind;
  call.dtype = message.dtype;
  call.count = message.data.bytes / size_of_dtype(message.dtype);
  call.root = message.peer < 0 ? -1 : static_cast<int32_t>(members_.global_rank(message.peer));
  return call;
}

void Messages::send(std::shared_ptr<Message> message) {
  std::lock_guard lock(mutex_);
  members_.check_failed(text_of(call_of(*message, Kind::kSend)));
  message->deadline = now_ns() + message->limit;
  outgoing_[static_cast<size_t>(message->peer)].push_back(message);
  sends_.push_back(std::move(message));
  changed_.notify_all();
}

void Messages::receive(std::shared_ptr<Message> message) {
  std::lock_guard lock(mutex_);
  members_.check_failed(text_of(call_of(*message, Kind::kReceive)));
  message->deadline = now_ns() + message->limit;
  if (take_stored(*message)) return;
  receives_.push_back(std::move(message));
  changed_.notify_all();
}

// ---- moving -----------------------------------------------------------------------------------------------

// True if something moved.
bool Messages::push(Message& message) {
  const Header header = {message.data.bytes, message.dtype, message.tag, 0};
  bool moved = false;
  while (message.moved < kHeader + message.data.bytes) {
    const int64_t inside = message.moved - kHeader;
    const int64_t done =
        inside < 0 ? mail_.write(message.peer, reinterpret_cast<const char*>(&header) + message.moved,
                                 kHeader - message.moved)
                   : mail_.write(message.peer, message.data.data + inside, message.data.bytes - inside);
    if (done == 0) return moved;
    message.moved += done;
    moved = true;
    if (done >= kStep) break;
  }
  return moved;
}

bool Messages::wants(int from) const {
  for (const auto& message : receives_)
    if (message->peer == from || message->peer < 0) return true;
  return false;
}

bool Messages::read_header(int from) {
  Incoming& in = incoming_[static_cast<size_t>(from)];
  const int64_t before = in.header_bytes;
  while (in.header_bytes < kHeader) {
    const int64_t got =
        mail_.read(from, reinterpret_cast<char*>(&in.header) + in.header_bytes, kHeader - in.header_bytes);
    if (got == 0) break;
    in.header_bytes += got;
  }
  return in.header_bytes > before;
}

// A message is for the first receive of its sender and tag.
void Messages::choose_target(int from) {
  Incoming& in = incoming_[static_cast<size_t>(from)];
  for (auto it = receives_.begin(); it != receives_.end(); ++it) {
    const std::shared_ptr<Message> message = *it;
    if (message->tag != in.header.tag || (message->peer >= 0 && message->peer != from)) continue;
    deliver(*message, in.header, from);
    receives_.erase(it);
    in.target = message;
    copy(message->data.data, {in.aside.data(), in.got});
    in.aside.clear();
    return;
  }
  in.aside.resize(static_cast<size_t>(in.header.bytes));
}

void Messages::deliver(Message& message, const Header& header, int from) {
  message.task->source = from;
  if (header.bytes == message.data.bytes && header.dtype == message.dtype) return;
  Call sent;
  sent.kind = Kind::kSend;
  sent.dtype = header.dtype;
  sent.count = header.bytes / size_of_dtype(header.dtype);
  members_.fail("a message of group " + members_.group_name() + ": " + members_.describe(from) + " called " +
                text_of(sent) + ", " + members_.describe(members_.rank()) + " called " +
                text_of(call_of(message, Kind::kReceive)));
}

bool Messages::pull(int from) {
  Incoming& in = incoming_[static_cast<size_t>(from)];
  bool moved = false;
  if (in.header_bytes < kHeader) {
    if (!wants(from)) return false;
    moved = read_header(from);
    if (in.header_bytes < kHeader) return moved;
    choose_target(from);
  } else if (!in.target) {
    if (!wants(from)) return false;
    choose_target(from);
  }
  char* to = in.target ? in.target->data.data : in.aside.data();
  while (in.got < in.header.bytes) {
    const int64_t got = mail_.read(from, to + in.got, in.header.bytes - in.got);
    if (got == 0) return moved;
    in.got += got;
    moved = true;
    if (got >= kStep && in.got < in.header.bytes) return true;
  }
  return finish_incoming(from);
}

bool Messages::finish_incoming(int from) {
  Incoming& in = incoming_[static_cast<size_t>(from)];
  const std::shared_ptr<Message> target = std::move(in.target);
  if (!target) stored_[static_cast<size_t>(from)].push_back({in.header, std::move(in.aside)});
  in = Incoming();
  if (target) target->task->run(Deadline());
  return true;
}

bool Messages::take_stored(Message& message) {
  for (int from = 0; from < members_.size(); ++from) {
    if (message.peer >= 0 && message.peer != from) continue;
    auto& stored = stored_[static_cast<size_t>(from)];
    for (auto it = stored.begin(); it != stored.end(); ++it) {
      if (it->header.tag != message.tag) continue;
      const Stored found = std::move(*it);
      stored.erase(it);
      deliver(message, found.header, from);
      copy(message.data.data, {const_cast<char*>(found.data.data()), found.header.bytes});
      message.task->run(Deadline());
      return true;
    }
  }
  return false;
}

bool Messages::progress() {
  bool moved = false;
  for (auto& queue : outgoing_) {
    if (queue.empty()) continue;
    const std::shared_ptr<Message> message = queue.front();
    moved |= push(*message);
    if (message->moved < kHeader + message->data.bytes) continue;
    queue.pop_front();
    sends_.remove(message);
    message->task->run(Deadline());
  }
  for (int from = 0; from < members_.size(); ++from)
    if (from != members_.rank()) moved |= pull(from);
  return moved;
}

// ---- waiting ----------------------------------------------------------------------------------------------

void Messages::check_waits() {
  const int64_t now = now_ns();
  if (now < next_look_) return;
  next_look_ = now + kLookEvery;
  const auto look = [&](const Message& message, Kind kind) {
    const Call call = call_of(message, kind);
    members_.check_failed(text_of(call));
    if (message.peer >= 0) mail_.check_peer(message.peer, call);
    for (int i = 0; message.peer < 0 && i < members_.size(); ++i)
      if (mail_.is_dead(i)) mail_.check_peer(i, call);
    if (now < message.deadline) return;
    const std::string whom = message.peer < 0 ? "any rank" : members_.describe(message.peer);
    members_.fail(members_.describe(members_.rank()) + " reached its timeout of " +
                  seconds_text(message.limit) + " s in " + text_of(call) + " of group " +
                  members_.group_name() + ", waiting for " + whom);
  };
  for (const auto& message : sends_) look(*message, Kind::kSend);
  for (const auto& message : receives_) look(*message, Kind::kReceive);
  for (const Incoming& in : incoming_)
    if (in.target) look(*in.target, Kind::kReceive);
}

void Messages::give_up(const std::exception_ptr& error) {
  std::vector<std::shared_ptr<Message>> every(sends_.begin(), sends_.end());
  every.insert(every.end(), receives_.begin(), receives_.end());
  for (Incoming& in : incoming_)
    if (in.target) every.push_back(std::move(in.target));
  sends_.clear();
  receives_.clear();
  for (auto& queue : outgoing_) queue.clear();
  for (const auto& message : every)
    if (!message->task->is_done()) message->task->finish(error);
}

// Waiting is work: whatever is under way is moved. First busy, then yielding, then asleep until something
// changes.
void Messages::wait_here(const std::shared_ptr<Message>& message) {
  Backoff backoff;
  while (!message->task->is_done()) {
    const uint32_t seen = mail_.change_count();
    bool moved = false;
    {
      std::lock_guard lock(mutex_);
      try {
        moved = progress();
        if (!moved) check_waits();
      } catch (...) {
        give_up(portable_exception());
      }
    }
    if (moved) {
      mail_.notify();
      backoff.reset();
      continue;
    }
    if (message->task->is_done()) break;
    if (backoff.step()) continue;
    await(seen);
    if (api().interrupted()) members_.interrupted("a message");
  }
}

void Messages::await(uint32_t seen) {
  std::vector<int> readable, writable;
  {
    std::lock_guard lock(mutex_);
    for (int i = 0; i < members_.size(); ++i) {
      if (i == members_.rank() || mail_.is_dead(i)) continue;
      if (incoming_[static_cast<size_t>(i)].target || wants(i)) readable.push_back(i);
      if (!outgoing_[static_cast<size_t>(i)].empty()) writable.push_back(i);
    }
  }
  mail_.await(seen, readable, writable, kSlice);
}

void Messages::start_thread() {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
}

// The thread's loop: sleeps while nothing is under way; after stop() it goes on until stop_at_.
void Messages::work() {
  std::unique_lock lock(mutex_);
  Backoff backoff(0);
  while (true) {
    const auto under_way = [this] {
      for (const Incoming& in : incoming_)
        if (in.target) return true;
      return !is_empty();
    };
    changed_.wait(lock, [&] { return stopping_ || under_way(); });
    if (!under_way()) return;
    if (stopping_ && now_ns() > stop_at_) {
      give_up(std::make_exception_ptr(
          Failure(FailureKind::kBackend, "the group was destroyed during a message")));
      return;
    }
    const uint32_t seen = mail_.change_count();
    bool moved = false;
    try {
      moved = progress();
      if (!moved) check_waits();
    } catch (...) {
      give_up(portable_exception());
    }
    lock.unlock();
    if (moved) {
      mail_.notify();
      backoff.reset();
    } else if (!backoff.step()) {
      await(seen);
    }
    lock.lock();
  }
}

void Messages::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    stop_at_ = now_ns() + kStopAfter;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tl::distributed

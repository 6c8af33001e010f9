// Exchanges over connections: frames are moved with all ranks at once by ppoll, fingerprints first.
#include "network/stream_exchange.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/failure.h"

namespace tl::distributed {

namespace {
constexpr int kParts = 16;  // of a frame that one system call moves

// Bytes moved; 0: not now. An end is a Failure.
int64_t move_some(int descriptor, const Cursor& cursor, bool sends) {
  iovec parts[kParts];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(cursor.parts(parts, kParts));
  const ssize_t moved = sends ? sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recvmsg(descriptor, &message, MSG_DONTWAIT);
  if (moved > 0) return moved;
  if (moved == 0) throw Failure(FailureKind::kNetwork, "its connection has ended");
  if (errno == EAGAIN || errno == EINTR) return 0;
  throw Failure(FailureKind::kNetwork, std::strerror(errno));
}
}  // namespace

StreamExchange::StreamExchange(Mesh& mesh, const Frames& outgoing, const Frames& incoming, const Call& call,
                               const Deadline& deadline)
    : Exchange(mesh, call, deadline) {
  moves_.reserve(outgoing.size() + incoming.size());
  for (const Frame& frame : outgoing) add(frame, Way::kOut);
  for (const Frame& frame : incoming) add(frame, Way::kIn);
  watched_.resize(moves_.size() + 1);
  watched_.back() = {mesh.alarm(), POLLIN, 0};
}

void StreamExchange::pump() {
  for (Move& move : moves_) advance(move);
}

void StreamExchange::finish() {
  pump();
  if (left_ == 0) return;
  while (left_ > 0) {
    for (size_t i = 0; i < moves_.size(); ++i) {
      const Move& move = moves_[i];
      watched_[i] = {move.is_over ? -1 : move.descriptor,
                     static_cast<short>(move.way == Way::kIn ? POLLIN : POLLOUT), 0};
    }
    if (!wait(watched_)) continue;
    for (size_t i = 0; i < moves_.size(); ++i)
      if (watched_[i].revents) advance(moves_[i]);
  }
  mesh_.note_absence(false);
}

void StreamExchange::add(const Frame& frame, Way way) {
  const int64_t bytes = total(frame.pieces);
  moves_.push_back(
      {frame.peer, mesh_.data(frame.peer), way, {bytes, call_}, bytes, Cursor({}), Cursor(frame.pieces)});
  Move& move = moves_.back();  // stays where it is: there is room for all
  move.head = Cursor({{reinterpret_cast<char*>(&move.header), sizeof move.header}});
  ++left_;
  if (way == Way::kOut) mesh_.count_frame(bytes + static_cast<int64_t>(sizeof move.header));
}

void StreamExchange::advance(Move& move) {
  try {
    while (!move.is_over && step(move)) {
    }
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::kNetwork) throw;
    mesh_.lost(move.peer, text_of(call_), failure.what());
  }
}

// False: nothing moves now.
bool StreamExchange::step(Move& move) {
  const bool in_head = !move.head.is_over();
  Cursor& cursor = in_head ? move.head : move.body;
  if (!cursor.is_over()) {
    const int64_t moved = move_some(move.descriptor, cursor, move.way == Way::kOut);
    if (moved == 0) return false;
    cursor.advance(moved);
  }
  if (in_head && move.head.is_over() && move.way == Way::kIn) compare(move.header, move.peer, move.bytes);
  if (move.head.is_over() && move.body.is_over()) move.is_over = true, --left_;
  return true;
}

std::vector<int> StreamExchange::missing(Way way) const {
  std::vector<int> peers;
  for (const Move& move : moves_)
    if (!move.is_over && move.way == way) peers.push_back(move.peer);
  return peers;
}

}  // namespace tl::distributed

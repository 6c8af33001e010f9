// The mesh: frames are exchanged with all ranks at once by ppoll, fingerprints first.
#include "network/mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr int kParts = 16;               // of a frame that one system call moves
constexpr int64_t kSlice = 100'000'000;  // after which a wait looks around

enum class Way { kOut, kIn };

// Bytes moved; 0: not now. An end is a Failure.
int64_t move_some(int descriptor, const Cursor& cursor, Way way) {
  iovec parts[kParts];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(cursor.parts(parts, kParts));
  const ssize_t moved = way == Way::kOut ? sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                                         : recvmsg(descriptor, &message, MSG_DONTWAIT);
  if (moved > 0) return moved;
  if (moved == 0) throw Failure(FailureKind::kNetwork, "its connection has ended");
  if (errno == EAGAIN || errno == EINTR) return 0;
  throw Failure(FailureKind::kNetwork, std::strerror(errno));
}
}  // namespace

// All that goes on in one exchange.
class Mesh::Exchange {
 public:
  Exchange(Mesh& mesh, const Frames& outgoing, const Frames& incoming, const Call& call,
           const Deadline& deadline)
      : mesh_(mesh), call_(call), deadline_(deadline) {
    moves_.reserve(outgoing.size() + incoming.size());
    for (const Frame& frame : outgoing) add(frame, Way::kOut);
    for (const Frame& frame : incoming) add(frame, Way::kIn);
    watched_.resize(moves_.size() + 1);
    watched_.back() = {mesh.alarm(), POLLIN, 0};
  }

  void operator()() {
    for (Move& move : moves_) advance(move);
    while (left_ > 0) {
      await();
      for (size_t i = 0; i < moves_.size(); ++i)
        if (watched_[i].revents) advance(moves_[i]);
    }
  }

 private:
  struct Move {
    int peer, descriptor;
    Way way;
    FrameHeader header;
    int64_t bytes;
    Cursor head, body;
    bool is_over = false;
  };

  void add(const Frame& frame, Way way) {
    const int64_t bytes = total(frame.pieces);
    moves_.push_back({frame.peer,
                      mesh_.data_[static_cast<size_t>(frame.peer)].get(),
                      way,
                      {bytes, call_},
                      bytes,
                      Cursor({}),
                      Cursor(frame.pieces)});
    Move& move = moves_.back();  // stays where it is: there is room for all
    move.head = Cursor({{reinterpret_cast<char*>(&move.header), sizeof move.header}});
    ++left_;
  }

  void advance(Move& move) {
    try {
      while (!move.is_over && step(move)) {
      }
    } catch (const Failure& failure) {
      if (failure.kind() != FailureKind::kNetwork) throw;
      mesh_.lost(move.peer, text_of(call_), failure.what());
    }
  }

  // False: nothing moves now.
  bool step(Move& move) {
    const bool in_head = !move.head.is_over();
    Cursor& cursor = in_head ? move.head : move.body;
    if (!cursor.is_over()) {
      const int64_t moved = move_some(move.descriptor, cursor, move.way);
      if (moved == 0) return false;
      cursor.advance(moved);
    }
    if (in_head && move.head.is_over() && move.way == Way::kIn) compare(move);
    if (move.head.is_over() && move.body.is_over()) move.is_over = true, --left_;
    return true;
  }

  void compare(const Move& move) const {
    if (!move.header.call.agrees(call_)) mesh_.disagree(mesh_.rank(), call_, move.peer, move.header.call);
    if (move.header.bytes != move.bytes)
      mesh_.refuse_sizes(call_, move.peer, mesh_.rank(), move.header.bytes, move.bytes);
  }

  void await() {
    for (size_t i = 0; i < moves_.size(); ++i) {
      const Move& move = moves_[i];
      watched_[i] = {move.is_over ? -1 : move.descriptor,
                     static_cast<short>(move.way == Way::kIn ? POLLIN : POLLOUT), 0};
    }
    const int64_t left = std::clamp<int64_t>(deadline_.time - now_ns(), 0, kSlice);
    const timespec time = {0, static_cast<long>(left)};
    const int ready = ppoll(watched_.data(), watched_.size(), &time, nullptr);
    if (watched_.back().revents) mesh_.check_failed(text_of(call_));
    if (ready > 0) return;
    if (deadline_.interruptible && api().interrupted()) mesh_.interrupted(text_of(call_));
    if (now_ns() >= deadline_.time) time_out();
    for (pollfd& each : watched_) each.revents = 0;
  }

  [[noreturn]] void time_out() const {
    std::string whom;
    for (const Way way : {Way::kIn, Way::kOut}) {
      for (const Move& move : moves_)
        if (!move.is_over && move.way == way) whom += (whom.empty() ? " " : ", ") + mesh_.describe(move.peer);
      if (!whom.empty()) break;
    }
    mesh_.fail(mesh_.describe(mesh_.rank()) + " reached its timeout of " + seconds_text(deadline_.limit) +
               " s in " + text_of(call_) + " of group " + mesh_.group_name() + ", waiting for" + whom);
  }

  Mesh& mesh_;
  const Call& call_;
  const Deadline& deadline_;
  std::vector<Move> moves_;
  std::vector<pollfd> watched_;
  size_t left_ = 0;
};

Mesh::Mesh(int rank, std::vector<Member> members, Links links, std::string group_name)
    : Membership(rank, std::move(members), std::move(group_name)),
      data_(std::move(links.data)),
      mail_(std::move(links.mail)) {
  watchdog_ = std::make_unique<Watchdog>(std::move(links.watch),
                                         [this](int dead) { return describe(dead) + " died"; });
}

void Mesh::exchange(const Frames& outgoing, const Frames& incoming, const Call& call,
                    const Deadline& deadline) {
  Exchange(*this, outgoing, incoming, call, deadline)();
}

void Mesh::lost(int rank, const std::string& doing, const std::string& why) {
  watchdog_->await_notice_of(rank);
  check_failed(doing);
  const std::string what =
      has_left(rank) ? " has left the group" : " died or cannot be reached: " + why + ",";
  fail(describe(rank) + what + " during " + doing + " of group " + group_name());
}

void Mesh::leave() {
  watchdog_->leave();
  for (std::vector<Descriptor>* links : {&data_, &mail_})
    for (const Descriptor& link : *links)
      if (link) shutdown(link.get(), SHUT_WR);
}

}  // namespace tl::distributed

// Exchanges over UCX: all messages are posted at once, then the worker makes progress until it has none to
// make, and sleeps.
#include "network/ucx_exchange.h"

#include <algorithm>
#include <cstring>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/failure.h"

namespace tl::distributed {

namespace {
constexpr int64_t kInside = 4096;  // bytes of data in the first message, at most
constexpr int64_t kRoom = static_cast<int64_t>(sizeof(FrameHeader)) + kInside;
constexpr uint64_t kBody = uint64_t{1} << 63;  // in the tag of the second message
constexpr int64_t kLastWords = 300'000'000;    // nanoseconds: what a rank sent before it left may still come
}  // namespace

UcxExchange::UcxExchange(Mesh& mesh, UcxWorker& worker, const Frames& outgoing, const Frames& incoming,
                         const Call& call, const Deadline& deadline)
    : Exchange(mesh, call, deadline), worker_(worker), lock_(worker.lock()) {
  const size_t count = outgoing.size() + incoming.size();
  moves_.reserve(count);
  char* room = worker.room(static_cast<int64_t>(count) * kRoom);
  for (const Frame& frame : incoming)
    add(frame, Way::kIn, room + static_cast<int64_t>(moves_.size()) * kRoom);
  for (const Frame& frame : outgoing)
    add(frame, Way::kOut, room + static_cast<int64_t>(moves_.size()) * kRoom);
  left_ = count;
  for (Move& move : moves_) start(move);
}

// After an error: nothing may be written to the caller's memory any more. The group has failed.
UcxExchange::~UcxExchange() {
  if (left_ == 0) return;
  std::vector<UcxRequest*> pending;
  for (Move& move : moves_) pending.insert(pending.end(), {&move.head_request, &move.body_request});
  worker_.close(UcxWorker::Closing::kForce, pending);
}

void UcxExchange::add(const Frame& frame, Way way, char* room) {
  const int64_t bytes = total(frame.pieces);
  Move move{frame.peer, way, frame.pieces, bytes, {}, {}};
  const int64_t inside = bytes <= kInside ? bytes : 0;
  move.head = {{room, static_cast<size_t>(way == Way::kIn ? kRoom : kRoom - kInside + inside)}};
  if (way == Way::kOut) {
    const FrameHeader header{bytes, call_};
    std::memcpy(room, &header, sizeof header);
    char* to = room + sizeof header;
    for (const Piece& piece : frame.pieces)
      if (inside > 0) copy(to, piece), to += piece.bytes;
    mesh_.count_frame(bytes + static_cast<int64_t>(sizeof header));
  }
  if (inside < bytes)
    for (const Piece& piece : frame.pieces)
      if (piece.bytes > 0) move.body.push_back({piece.data, static_cast<size_t>(piece.bytes)});
  moves_.push_back(std::move(move));
}

void UcxExchange::start(Move& move) {
  const auto post = [&](uint64_t kind, const std::vector<ucx::Vector>& vectors) {
    return move.way == Way::kIn
               ? worker_.receive(kind | static_cast<uint64_t>(move.peer), vectors)
               : worker_.send(move.peer, kind | static_cast<uint64_t>(mesh_.rank()), vectors);
  };
  move.head_request = post(0, move.head);
  if (!move.body.empty()) move.body_request = post(kBody, move.body);
}

void UcxExchange::pump() {
  worker_.progress();
  for (Move& move : moves_) advance(move);
}

void UcxExchange::finish() {
  std::vector<pollfd> watched = {{worker_.event(), POLLIN, 0}, {mesh_.alarm(), POLLIN, 0}};
  for (Backoff backoff; left_ > 0;) {
    const bool moved = worker_.progress();
    const size_t before = left_;
    for (Move& move : moves_) advance(move);
    if (moved || left_ < before) {
      backoff.reset();
    } else if (!backoff.step()) {
      look_for_ends();
      if (worker_.arm()) wait(watched);
    }
  }
  mesh_.note_absence(false);
}

// Whether it is over. The data's error counts only after the fingerprint's.
bool UcxExchange::advance(Move& move) {
  if (move.is_over) return true;
  try {
    if (!worker_.is_over(move.head_request)) return false;
    if (move.way == Way::kIn && !move.has_head) read_head(move);
    move.has_head = true;
    if (!worker_.is_over(move.body_request)) return false;
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::kNetwork) throw;
    mesh_.lost(move.peer, text_of(call_), failure.what());
  }
  --left_;
  return move.is_over = true;
}

void UcxExchange::read_head(Move& move) {
  FrameHeader header;
  const char* from = static_cast<const char*>(move.head[0].data);
  std::memcpy(&header, from, sizeof header);
  compare(header, move.peer, move.bytes);
  if (!move.body.empty()) return;
  from += sizeof header;
  for (const Piece& piece : move.pieces) {
    if (piece.bytes > 0) std::memcpy(piece.data, from, static_cast<size_t>(piece.bytes));
    from += piece.bytes;
  }
}

// A receive does not end with its sender.
void UcxExchange::look_for_ends() {
  for (const Move& move : moves_) {
    if (move.is_over) continue;
    if (const std::string error = worker_.error_of(move.peer); !error.empty())
      mesh_.lost(move.peer, text_of(call_), error);
    if (!mesh_.has_left(move.peer)) continue;
    if (left_since_ == 0) left_since_ = now_ns();
    if (now_ns() - left_since_ > kLastWords) mesh_.lost(move.peer, text_of(call_), "it has left");
  }
}

std::vector<int> UcxExchange::missing(Way way) const {
  std::vector<int> peers;
  for (const Move& move : moves_)
    if (!move.is_over && move.way == way) peers.push_back(move.peer);
  return peers;
}

}  // namespace tl::distributed

// The shared segment: barriers by counters, waited for by yields of the processor first and then on a futex.
#include "local/segment.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/failure.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr int64_t kPage = 4096;
constexpr int64_t kSlice = 2'000'000;  // of a sleep: a lost wake costs no more
constexpr int64_t pages(int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

struct Layout {
  explicit Layout(int64_t n)
      : blocks(pages(sizeof(SegmentHeader))),
        rings(blocks + pages(n * static_cast<int64_t>(sizeof(RankBlock)))),
        mail(rings + pages(n * n * static_cast<int64_t>(sizeof(MailRing)))),
        data(mail + n * n * kMailBytes),
        arena(data + n * 2 * kSlotBytes),
        end(arena + n * kArenaBytes) {}
  int64_t blocks, rings, mail, data, arena, end;
};

}  // namespace

int64_t Segment::bytes(int size) { return Layout(size).end; }

Segment::Segment(Descriptor memory, int rank, std::vector<Member> members, std::vector<Descriptor> pidfds,
                 std::string group_name)
    : Membership(rank, std::move(members), std::move(group_name)),
      descriptor_(std::move(memory)),
      pidfds_(std::move(pidfds)) {
  const Layout at(size());
  memory_ = Mapping(descriptor_.get(), 0, at.arena, "group " + this->group_name());
  char* base = memory_.data();
  header_ = reinterpret_cast<SegmentHeader*>(base);
  blocks_ = reinterpret_cast<RankBlock*>(base + at.blocks);
  rings_ = reinterpret_cast<MailRing*>(base + at.rings);
  mail_ = base + at.mail;
  data_ = base + at.data;
}

void Segment::post(const Call& call) {
  ++posts_;
  block(rank()).calls[posts_ & 1] = call;
}

Call Segment::last_call(int rank) const {
  const Call& a = block(rank).calls[0];
  const Call& b = block(rank).calls[1];
  return a.sequence > b.sequence ? a : b;
}

void Segment::arrive() {
  RankBlock& mine = block(rank());
  mine.arrived.store(++step_, std::memory_order_seq_cst);
  if (mine.sleepers.load(std::memory_order_seq_cst)) futex_wake(mine.arrived);
}

void Segment::await_all(const Call& call, const Deadline& deadline) {
  Backoff backoff;
  for (int i = 1; i < size(); ++i) {
    const int rank = (this->rank() + i) % size();
    while (!has_arrived(rank) && backoff.step()) {
    }
    if (!has_arrived(rank)) await(rank, call, deadline);
  }
}

void Segment::await(int rank, const Call& call, const Deadline& deadline) {
  RankBlock& theirs = block(rank);
  while (true) {
    theirs.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = theirs.arrived.load(std::memory_order_seq_cst);
    if (static_cast<int32_t>(seen - step_) < 0) futex_wait(theirs.arrived, seen, kSlice);
    theirs.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    if (has_arrived(rank)) return;
    check_wait(call, deadline);
  }
}

// The checks of a long wait: failures of other ranks, deaths, Ctrl-C, the clock.
void Segment::check_wait(const Call& call, const Deadline& deadline) {
  check_failed(text_of(call));
  for (int i = 0; i < size(); ++i)
    if (!has_arrived(i)) check_peer(i, call);
  if (deadline.interruptible && api().interrupted()) interrupted(text_of(call));
  if (now_ns() >= end_of_wait(deadline)) time_out(call, deadline);
}

namespace {
uint32_t milliseconds() { return static_cast<uint32_t>(now_ns() / 1'000'000); }
}  // namespace

void Segment::note_absence(bool is_absent) {
  block(rank()).absent_at.store(is_absent ? milliseconds() | 1 : 0, std::memory_order_release);
}

bool Segment::is_absent(int rank) const {
  constexpr uint32_t kFresh = 500;
  const uint32_t at = block(rank).absent_at.load(std::memory_order_acquire);
  return at != 0 && milliseconds() - at < kFresh;
}

// A rank that waits for another machine names the cause of a timeout itself, a little later.
int64_t Segment::end_of_wait(const Deadline& deadline) const {
  constexpr int64_t kGraceShare = 20;
  for (const int rank : missing())
    if (!is_absent(rank)) return deadline.time;
  return deadline.time + deadline.limit / kGraceShare;
}

int64_t Segment::first_death(int64_t rank, int64_t milliseconds) {
  constexpr int kRankBits = 20;
  constexpr useconds_t kSettle = 30'000;
  const uint64_t seen = static_cast<uint64_t>(milliseconds) << kRankBits | static_cast<uint64_t>(rank);
  uint64_t first = header_->first_death.load();
  while ((first == 0 || seen < first) && !header_->first_death.compare_exchange_weak(first, seen)) {
  }
  usleep(kSettle);  // the rank that died first may be connected to another rank of this machine
  return static_cast<int64_t>(header_->first_death.load() & ((1u << kRankBits) - 1));
}

void Segment::check_peer(int rank, const Call& call) {
  if (rank == this->rank()) return;
  RankBlock& theirs = block(rank);
  const bool gone = is_dead(rank), left = theirs.has_left.load(std::memory_order_acquire);
  if (!gone && !left) return;
  // It may have arrived, and only then have gone.
  if (has_arrived(rank) && call.kind != Kind::kReceive && call.kind != Kind::kSend) return;
  fail(describe(rank) + (left ? " has left the group" : " died") + " during " + text_of(call) + " of group " +
       group_name() + "; its last call was " + text_of(last_call(rank)));
}

std::vector<int> Segment::missing() const {
  std::vector<int> ranks;
  for (int i = 0; i < size(); ++i)
    if (!has_arrived(i)) ranks.push_back(i);
  return ranks;
}

std::vector<int64_t> Segment::missing_ranks() const {
  std::vector<int64_t> ranks;
  if (header_->failed.load(std::memory_order_acquire) != kTimedOut) return ranks;
  for (int rank : missing()) ranks.push_back(global_rank(rank));
  return ranks;
}

void Segment::time_out(const Call& call, const Deadline& deadline) {
  std::vector<int64_t> ranks;
  std::string text = describe(rank()) + " reached its timeout of " + seconds_text(deadline.limit) + " s in " +
                     text_of(call) + " of group " + group_name() + ", waiting for";
  for (int other : missing()) {
    ranks.push_back(global_rank(other));
    text += " " + describe(other) + ", whose last call was " + text_of(last_call(other)) + ";";
  }
  text.pop_back();
  poison_as(kTimedOut, text);
  throw Failure(FailureKind::kBackend, text, ranks);
}

void Segment::notify_mail() {
  header_->mail.fetch_add(1, std::memory_order_seq_cst);
  if (header_->mail_sleepers.load(std::memory_order_seq_cst)) futex_wake(header_->mail);
}

void Segment::await_mail(uint32_t seen, int64_t ns) {
  header_->mail_sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (header_->mail.load(std::memory_order_seq_cst) == seen) futex_wait(header_->mail, seen, ns);
  header_->mail_sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

std::string Segment::failure() const {
  for (int k = 0; k < 1000 && header_->failed.load(std::memory_order_acquire) < kFailed; ++k) usleep(10);
  header_->text[sizeof header_->text - 1] = 0;
  return header_->text;
}

void Segment::poison_as(FailureState state, const std::string& text) {
  uint32_t sound = kSound;
  if (!header_->failed.compare_exchange_strong(sound, kWritingText)) return;
  const size_t length = std::min(text.size(), sizeof header_->text - 1);
  std::memcpy(header_->text, text.data(), length);
  header_->text[length] = 0;
  header_->failed.store(state, std::memory_order_release);
  notify_mail();
  for (int i = 0; i < size(); ++i)  // sleeping ranks then check their wait
    if (block(i).sleepers.load()) futex_wake(block(i).arrived);
  if (tell_) tell_(text);
}

bool Segment::is_dead(int rank) const {
  pollfd watched = {pidfds_[static_cast<size_t>(rank)].get(), POLLIN, 0};
  return watched.fd >= 0 && poll(&watched, 1, 0) > 0;
}

void Segment::leave() {
  block(rank()).has_left.store(1, std::memory_order_release);
  futex_wake(block(rank()).arrived);
  notify_mail();
}

std::shared_ptr<Arena> Segment::arena() {
  std::lock_guard lock(arena_mutex_);
  if (!arena_) {
    const Layout at(size());
    Mapping memory(descriptor_.get(), at.arena, size() * kArenaBytes, "the arena of group " + group_name());
    arena_ = std::make_shared<Arena>(std::move(memory), kArenaBytes, rank());
    has_arena_.store(true, std::memory_order_release);
  }
  return arena_;
}

int64_t Segment::arena_offset(const void* data, int64_t bytes) const {
  return has_arena_.load(std::memory_order_acquire) ? arena_->offset_of(data, bytes) : -1;
}

}  // namespace tl::distributed

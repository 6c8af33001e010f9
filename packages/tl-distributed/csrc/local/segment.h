// The memory that the ranks of a group on one machine share, and how they wait for each other in it.
//
// Each rank has a block, in which it alone writes: how many steps it has come to, and the fingerprints of its
// last two calls; and two slots for data. In a step every rank writes to one of its slots, arrives, waits for
// all others, and reads what it needs. The next step uses the other slot, so one barrier a step is enough:
// who arrives at a step has finished reading the step before, and nobody writes to a slot before all have
// arrived at the step after it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mapping.h"
#include "base/socket.h"
#include "local/arena.h"
#include "local/futex.h"
#include "ranks/membership.h"

namespace tl::distributed {

inline constexpr int64_t kSlotBytes = 1 << 20;
inline constexpr int64_t kMailBytes = 1 << 19;            // of the ring from one rank to another
inline constexpr int64_t kArenaBytes = int64_t{1} << 33;  // of addresses; memory is taken when it is written

struct alignas(64) RankBlock {
  Word arrived;   // steps this rank has come to
  Word sleepers;  // ranks asleep on `arrived`
  Word has_left;
  Word absent_at;  // when it waited for a rank of another machine, in milliseconds; 0: it doesn't
  alignas(64) Call calls[2];
};

// A ring of bytes from one rank to another; the counters only grow.
struct alignas(64) MailRing {
  std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
};

// Values of SegmentHeader::failed. The text is complete from kFailed on.
enum FailureState : uint32_t { kSound, kWritingText, kFailed, kTimedOut };

struct alignas(64) SegmentHeader {
  std::atomic<uint64_t> first_death;  // of a rank on another machine: when it was, and its number
  Word failed;                        // FailureState
  Word mail;                          // goes up with every change of a ring
  Word mail_sleepers;
  char text[1024];
};

class Segment final : public Membership {
 public:
  // `pidfds` become readable when a rank dies; -1: unknown. They and the memory's descriptor are owned.
  Segment(Descriptor memory, int rank, std::vector<Member> members, std::vector<Descriptor> pidfds,
          std::string group_name);
  Segment(const Segment&) = delete;

  static int64_t bytes(int size);  // of the whole file for a group of `size`

  char* slot(int rank, uint32_t step) const { return data_ + (int64_t{rank} * 2 + (step & 1)) * kSlotBytes; }
  static constexpr int64_t slot_pitch() { return 2 * kSlotBytes; }
  RankBlock& block(int rank) const { return blocks_[rank]; }
  MailRing& ring(int from, int to) const { return rings_[from * size() + to]; }
  char* ring_data(int from, int to) const { return mail_ + (int64_t{from} * size() + to) * kMailBytes; }

  // Steps.
  uint32_t step() const { return step_; }
  void post(const Call& call);  // before arriving at a call's first step
  void arrive();
  void await_all(const Call& call, const Deadline& deadline);
  bool has_arrived(int rank) const {  // at this step
    return static_cast<int32_t>(block(rank).arrived.load(std::memory_order_acquire) - step_) >= 0;
  }
  std::vector<int> missing() const;  // ranks that haven't arrived at this step
  const Call& posted(int rank) const { return block(rank).calls[posts_ & 1]; }
  Call last_call(int rank) const;

  // Ranks on other machines.
  void note_absence(bool is_absent);  // again while the wait goes on: a rank that stands still is not absent
  // The rank that died first, as far as the ranks of this machine know, with a rank that was seen to die
  // then.
  int64_t first_death(int64_t rank, int64_t milliseconds);
  // Called once, with the first failure that this rank raises.
  void on_failure(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }
  int pidfd(int rank) const { return pidfds_[static_cast<size_t>(rank)].get(); }
  std::string failure() const override;  // after has_failed()

  // Changes of rings.
  uint32_t mail_count() const { return header_->mail.load(std::memory_order_acquire); }
  void notify_mail();
  void await_mail(uint32_t seen, int64_t ns);

  bool has_failed() const override { return header_->failed.load(std::memory_order_acquire) != kSound; }
  void poison(const std::string& text) override { poison_as(kFailed, text); }
  void leave() override;
  bool is_dead(int rank) const;                 // by its pidfd
  void check_peer(int rank, const Call& call);  // fails if it is dead or has left

  // Mapped when first asked for.
  std::shared_ptr<Arena> arena();
  int64_t arena_offset(const void* data, int64_t bytes) const;  // -1: it doesn't lie there

 private:
  std::vector<int64_t> missing_ranks() const override;
  void poison_as(FailureState state, const std::string& text);
  void await(int rank, const Call& call, const Deadline& deadline);
  void check_wait(const Call& call, const Deadline& deadline);
  [[noreturn]] void time_out(const Call& call, const Deadline& deadline);

  bool is_absent(int rank) const;
  int64_t end_of_wait(const Deadline& deadline) const;

  Descriptor descriptor_;
  std::vector<Descriptor> pidfds_;
  std::function<void(const std::string&)> tell_;
  Mapping memory_;
  SegmentHeader* header_;
  RankBlock* blocks_;
  MailRing* rings_;
  char* mail_;
  char* data_;
  uint32_t step_ = 0;
  uint32_t posts_ = 0;
  std::mutex arena_mutex_;
  std::atomic<bool> has_arena_{false};
  std::shared_ptr<Arena> arena_;
};

}  // namespace tl::distributed

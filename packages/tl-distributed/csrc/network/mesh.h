// The connections of a rank to ranks on other machines, and how ranks wait for each other there.
//
// In a group without shared memory, they are made with the group, one from each rank to each. In a group
// whose machines have several ranks, a mesh connects the ranks of one number in their machines, when first
// used.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/socket.h"
#include "local/segment.h"
#include "network/door.h"
#include "network/frame.h"
#include "network/watchdog.h"
#include "ranks/membership.h"
#include "ucx/worker.h"

namespace tl::distributed {

class Exchange;

// Descriptors by rank, whose own is empty.
struct Links {
  std::vector<Descriptor> data, mail, watch;
};

// The machine of a rank whose group has several ranks on machines.
struct Surroundings {
  Segment* machine = nullptr;
  Door* door = nullptr;
  std::vector<int> numbers;  // of the mesh's ranks in the group
  Watchdog::DeathText death_text;
  Watchdog::Neighbours neighbours;
  const UcxLibrary* ucx = nullptr;  // which moves the frames; none: connections do
};

// A wait of that share more than its limit: who sees the cause of a timeout is to name it first.
int64_t grace_of(const Deadline& deadline);

class Mesh final : public Membership {
 public:
  Mesh(int rank, std::vector<Member> members, Links links, std::string group_name);
  Mesh(int rank, std::vector<Member> members, std::vector<Descriptor> watch, std::string group_name,
       Surroundings surroundings);
  ~Mesh() override;

  void exchange(const Frames& outgoing, const Frames& incoming, const Call& call, const Deadline& deadline);

  // Frames under way.
  std::unique_ptr<Exchange> begin(const Frames& outgoing, const Frames& incoming, const Call& call,
                                  const Deadline& deadline);
  int data(int rank) const { return data_[static_cast<size_t>(rank)].get(); }
  const Descriptor& mail(int rank) const { return mail_[static_cast<size_t>(rank)]; }
  int alarm() const { return watchdog_->alarm(); }
  // A connection to that rank has ended.
  [[noreturn]] void lost(int rank, const std::string& doing, const std::string& why);
  [[noreturn]] void time_out(const std::vector<int>& peers, const Call& call, const Deadline& deadline);
  int64_t end_of(const Deadline& deadline) const;
  int64_t slice() const;  // of a wait: nanoseconds

  bool has_failed() const override;
  bool has_left(int rank) const override { return watchdog_->has_left(rank); }
  void poison(const std::string& text) override { watchdog_->fail(text); }
  void leave() override;

  // Frames and bytes that this rank has sent.
  void count_frame(int64_t bytes) { ++frames_sent_, bytes_sent_ += bytes; }
  int64_t frames_sent() const { return frames_sent_; }
  int64_t bytes_sent() const { return bytes_sent_; }

  // The ranks of the machine see that this rank waits for another machine, or no longer.
  void note_absence(bool is_absent) const {
    if (surroundings_.machine) surroundings_.machine->note_absence(is_absent);
  }

 private:
  std::string failure() const override;
  void connect(const std::vector<int>& peers, const Call& call, const Deadline& deadline);
  void join(const std::vector<int>& peers, const Call& call, const Deadline& deadline);
  std::string address_from(int peer, const Descriptor& link, const Call& call, const Deadline& deadline);
  void pause(int peer, const Descriptor& link, const Call& call, const Deadline& deadline);
  void look_around(int peer, const Call& call, const Deadline& deadline);
  Descriptor reach(int peer, const Call& call, const Deadline& deadline);
  Descriptor receive(int peer, const Call& call, const Deadline& deadline);

  Surroundings surroundings_;
  std::vector<Descriptor> data_, mail_;
  std::unique_ptr<UcxWorker> worker_;  // made when first used
  std::atomic<int64_t> frames_sent_{0}, bytes_sent_{0};
  std::unique_ptr<Watchdog> watchdog_;  // uses the rest
};

}  // namespace tl::distributed

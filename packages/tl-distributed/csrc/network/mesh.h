// The connections of a group between machines, one from each rank to each, and how ranks wait for each other
// there.
#pragma once

#include <memory>
#include <vector>

#include "base/socket.h"
#include "network/frame.h"
#include "network/watchdog.h"
#include "ranks/membership.h"

namespace tl::distributed {

// Descriptors by rank, whose own is empty.
struct Links {
  std::vector<Descriptor> data, mail, watch;
};

class Mesh final : public Membership {
 public:
  Mesh(int rank, std::vector<Member> members, Links links, std::string group_name);

  // Sends to, and receives from, some ranks at once; returns when all is over. Each frame carries the
  // fingerprint of the call, and one that does not fit fails.
  void exchange(const Frames& outgoing, const Frames& incoming, const Call& call, const Deadline& deadline);

  const Descriptor& mail(int rank) const { return mail_[static_cast<size_t>(rank)]; }
  int alarm() const { return watchdog_->alarm(); }
  bool has_left(int rank) const { return watchdog_->has_left(rank); }
  // A connection to that rank has ended.
  [[noreturn]] void lost(int rank, const std::string& doing, const std::string& why);

  bool has_failed() const override { return watchdog_->has_failed(); }
  void poison(const std::string& text) override { watchdog_->fail(text); }
  void leave() override;

 private:
  class Exchange;
  std::string failure() const override { return watchdog_->failure(); }

  std::vector<Descriptor> data_, mail_;
  std::unique_ptr<Watchdog> watchdog_;  // uses the rest
};

}  // namespace tl::distributed

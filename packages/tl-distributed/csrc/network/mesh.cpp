// The mesh: connections that are there from the beginning, or made when first used.
#include "network/mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "network/exchange.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr int64_t kSlice = 100'000'000;        // after which a wait looks around
constexpr int64_t kMachineSlice = 10'000'000;  // the same where ranks of this machine may fail, too
constexpr int64_t kGraceShare = 50;            // of a limit
}  // namespace

int64_t grace_of(const Deadline& deadline) { return deadline.limit / kGraceShare; }

Mesh::Mesh(int rank, std::vector<Member> members, Links links, std::string group_name)
    : Membership(rank, std::move(members), std::move(group_name)),
      data_(std::move(links.data)),
      mail_(std::move(links.mail)) {
  watchdog_ = std::make_unique<Watchdog>(std::move(links.watch),
                                         [this](int dead, int64_t) { return describe(dead) + " died"; });
}

Mesh::Mesh(int rank, std::vector<Member> members, std::vector<Descriptor> watch, std::string group_name,
           Surroundings surroundings)
    : Membership(rank, std::move(members), std::move(group_name)),
      surroundings_(std::move(surroundings)),
      data_(watch.size()) {
  watchdog_ =
      std::make_unique<Watchdog>(std::move(watch), surroundings_.death_text, surroundings_.neighbours);
}

void Mesh::exchange(const Frames& outgoing, const Frames& incoming, const Call& call,
                    const Deadline& deadline) {
  Exchange(*this, outgoing, incoming, call, deadline).finish();
}

bool Mesh::has_failed() const {
  return watchdog_->has_failed() || (surroundings_.machine && surroundings_.machine->has_failed());
}

std::string Mesh::failure() const {
  return watchdog_->has_failed() ? watchdog_->failure() : surroundings_.machine->failure();
}

// A rank with neighbours leaves it to those that see the cause to name it.
int64_t Mesh::end_of(const Deadline& deadline) const {
  return surroundings_.machine ? deadline.time + grace_of(deadline) : deadline.time;
}

int64_t Mesh::slice() const { return surroundings_.machine ? kMachineSlice : kSlice; }

// Of two ranks, the one with the higher number connects. All that this rank has to make come first, so that
// no rank waits for one that waits.
void Mesh::connect(const std::vector<int>& peers, const Call& call, const Deadline& deadline) {
  if (!surroundings_.door) return;
  for (int peer : peers)
    if (peer < rank() && !data_[static_cast<size_t>(peer)])
      data_[static_cast<size_t>(peer)] = reach(peer, call, deadline);
  for (int peer : peers)
    if (peer > rank() && !data_[static_cast<size_t>(peer)])
      data_[static_cast<size_t>(peer)] = receive(peer, call, deadline);
}

Descriptor Mesh::reach(int peer, const Call& call, const Deadline& deadline) {
  try {
    return surroundings_.door->reach(surroundings_.numbers[static_cast<size_t>(peer)], LinkKind::kData,
                                     deadline.time, [&] { check_failed(text_of(call)); });
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::kNetwork) throw;
    lost(peer, text_of(call), failure.what());
  }
}

Descriptor Mesh::receive(int peer, const Call& call, const Deadline& deadline) {
  while (true) {
    note_absence(true);
    if (Descriptor link =
            surroundings_.door->take(surroundings_.numbers[static_cast<size_t>(peer)], LinkKind::kData)) {
      note_absence(false);
      return link;
    }
    surroundings_.door->await();
    check_failed(text_of(call));
    if (deadline.interruptible && api().interrupted()) interrupted(text_of(call));
    if (now_ns() >= end_of(deadline)) time_out({peer}, call, deadline);
  }
}

void Mesh::time_out(const std::vector<int>& peers, const Call& call, const Deadline& deadline) {
  std::string whom;
  for (int peer : peers) whom += (whom.empty() ? " " : ", ") + describe(peer);
  fail(describe(rank()) + " reached its timeout of " + seconds_text(deadline.limit) + " s in " +
       text_of(call) + " of group " + group_name() + ", waiting for" + whom);
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

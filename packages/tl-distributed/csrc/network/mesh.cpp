// The mesh: connections that are there from the beginning, or made when first used.
#include "network/mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "network/stream_exchange.h"
#include "network/ucx_exchange.h"
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

Mesh::~Mesh() = default;

void Mesh::exchange(const Frames& outgoing, const Frames& incoming, const Call& call,
                    const Deadline& deadline) {
  begin(outgoing, incoming, call, deadline)->finish();
}

std::unique_ptr<Exchange> Mesh::begin(const Frames& outgoing, const Frames& incoming, const Call& call,
                                      const Deadline& deadline) {
  std::vector<int> peers;
  for (const Frames* frames : {&outgoing, &incoming})
    for (const Frame& frame : *frames) peers.push_back(frame.peer);
  if (!surroundings_.ucx) {
    connect(peers, call, deadline);
    return std::make_unique<StreamExchange>(*this, outgoing, incoming, call, deadline);
  }
  join(peers, call, deadline);
  return std::make_unique<UcxExchange>(*this, *worker_, outgoing, incoming, call, deadline);
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

// Over UCX: connections are made in the same order, carry the addresses of the two workers, and end.
void Mesh::join(const std::vector<int>& peers, const Call& call, const Deadline& deadline) {
  check_failed(text_of(call));
  try {
    if (!worker_) worker_ = std::make_unique<UcxWorker>(*surroundings_.ucx, size());
  } catch (const Failure& failure) {
    fail(describe(rank()) + " cannot use UCX " + surroundings_.ucx->version() + " (" +
         surroundings_.ucx->path() + "): " + failure.what());
  }
  const auto lock = worker_->lock();
  std::vector<int> strangers;
  for (const int peer : peers)
    if (!worker_->is_connected(peer) &&
        std::find(strangers.begin(), strangers.end(), peer) == strangers.end())
      strangers.push_back(peer);
  if (strangers.empty()) return;
  const std::string address = worker_->address();
  const auto size = static_cast<uint32_t>(address.size());
  const std::string greeting = std::string(reinterpret_cast<const char*>(&size), sizeof size) + address;
  std::vector<std::pair<int, Descriptor>> links;
  const auto greet = [&](int peer, Descriptor link) {  // the buffer of a new connection has room for it
    send_some(link.get(), greeting.data(), static_cast<int64_t>(greeting.size()));
    links.emplace_back(peer, std::move(link));
  };
  for (const int peer : strangers)
    if (peer < rank()) greet(peer, reach(peer, call, deadline));
  for (const int peer : strangers)
    if (peer > rank()) greet(peer, receive(peer, call, deadline));
  for (const auto& [peer, link] : links) worker_->connect(peer, address_from(peer, link, call, deadline));
}

std::string Mesh::address_from(int peer, const Descriptor& link, const Call& call, const Deadline& deadline) {
  uint32_t size = 0;
  std::string bytes;
  try {
    while (bytes.size() < sizeof size || bytes.size() < sizeof size + size) {
      char part[512];
      const size_t wanted = sizeof size + (bytes.size() < sizeof size ? 0 : size) - bytes.size();
      const int64_t got = receive_some(link.get(), part, static_cast<int64_t>(std::min(wanted, sizeof part)));
      bytes.append(part, static_cast<size_t>(got));
      if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
      if (got == 0) pause(peer, link, call, deadline);
    }
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::kNetwork) throw;
    lost(peer, text_of(call), failure.what());
  }
  note_absence(false);
  return bytes.substr(sizeof size);
}

// A slice of the wait for something to read.
void Mesh::pause(int peer, const Descriptor& link, const Call& call, const Deadline& deadline) {
  note_absence(true);
  pollfd watched[] = {{link.get(), POLLIN, 0}, {alarm(), POLLIN, 0}};
  const timespec time = {0, static_cast<long>(slice())};
  ppoll(watched, 2, &time, nullptr);
  look_around(peer, call, deadline);
}

// What ends a wait for a rank.
void Mesh::look_around(int peer, const Call& call, const Deadline& deadline) {
  check_failed(text_of(call));
  if (deadline.interruptible && api().interrupted()) interrupted(text_of(call));
  if (now_ns() >= end_of(deadline)) time_out({peer}, call, deadline);
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
    look_around(peer, call, deadline);
  }
}

void Mesh::time_out(const std::vector<int>& peers, const Call& call, const Deadline& deadline) {
  std::string whom;
  for (int peer : peers) whom += (whom.empty() ? " " : ", ") + describe(peer);
  fail(describe(rank()) + " reached its timeout of " + seconds_text(deadline.limit) + " s in " +
       text_of(call) + " of group " + group_name() + ", waiting for" + whom);
}

void Mesh::lost(int rank, const std::string& doing, const std::string& why) {
  await_failure(rank);
  check_failed(doing);
  const std::string what =
      has_left(rank) ? " has left the group" : " died or cannot be reached: " + why + ",";
  fail(describe(rank) + what + " during " + doing + " of group " + group_name());
}

void Mesh::leave() {
  if (worker_) {
    const auto lock = worker_->lock();
    worker_->close(has_failed() ? UcxWorker::Closing::kForce : UcxWorker::Closing::kFlush);
  }
  watchdog_->leave();
  for (std::vector<Descriptor>* links : {&data_, &mail_})
    for (const Descriptor& link : *links)
      if (link) shutdown(link.get(), SHUT_WR);
}

}  // namespace tl::distributed

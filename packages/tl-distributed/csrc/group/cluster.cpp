// Places of ranks, and failures that pass between the memory of a machine and its lanes.
#include "group/cluster.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace tl::distributed {

namespace {
std::vector<Member> members_at(const std::vector<Member>& members, const std::vector<int>& ranks) {
  std::vector<Member> list;
  for (const int rank : ranks) list.push_back(members[static_cast<size_t>(rank)]);
  return list;
}
}  // namespace

// The lanes' thread may report a death before the mesh is there, and then only to the memory.
Cluster::Cluster(int rank, std::vector<Member> members, std::string group_name,
                 std::vector<std::vector<int>> machines, ClusterLinks links)
    : Membership(rank, members, std::move(group_name)),
      machines_(std::move(machines)),
      ucx_(links.ucx),
      positions_(members.size()),
      door_(std::move(links.door)) {
  lanes_ = longest_ = static_cast<int>(machines_[0].size());
  for (int m = 0; m < machine_count(); ++m) {
    const int size = static_cast<int>(ranks_of(m).size());
    lanes_ = std::min(lanes_, size);
    longest_ = std::max(longest_, size);
    for (int i = 0; i < size; ++i) positions_[static_cast<size_t>(rank_at(m, i))] = {m, i};
  }
  segment_ =
      std::make_unique<Segment>(std::move(links.memory), number(), members_at(members, ranks_of(machine())),
                                std::move(links.pidfds), this->group_name());
  if (number() >= lanes_) return;
  segment_->on_failure([this](const std::string& text) {
    if (Mesh* mesh = told_.load()) mesh->poison(text);
  });
  Surroundings around = surroundings();
  auto lane = members_at(members, around.numbers);
  mesh_ = std::make_unique<Mesh>(machine(), std::move(lane), std::move(links.watch), this->group_name(),
                                 std::move(around));
  told_ = mesh_.get();
}

Surroundings Cluster::surroundings() {
  Surroundings around{segment_.get(), door_.get(), {}, {}, {}, ucx_};
  for (int m = 0; m < machine_count(); ++m) around.numbers.push_back(rank_at(m, number()));
  around.death_text = [this](int machine, int64_t silent) { return death_text(machine, silent); };
  std::vector<int> others;
  for (int i = 0; i < segment_->size(); ++i)
    if (i != number()) others.push_back(i);
  for (const int i : others) around.neighbours.pidfds.push_back(segment_->pidfd(i));
  around.neighbours.death_text = [this, others](size_t index) -> std::string {
    const int number = others[index];
    if (segment_->block(number).has_left.load()) return "";
    return describe(rank_at(machine(), number)) + " died";
  };
  around.neighbours.tell = [this](const std::string& text) { segment_->poison(text); };
  if (segment_->size() > lanes_)  // what ranks without a lane have to say
    around.neighbours.failure = [this] { return segment_->has_failed() ? segment_->failure() : ""; };
  return around;
}

std::string Cluster::death_text(int machine, int64_t silent) {
  constexpr int64_t kMillisecond = 1'000'000;
  const int64_t when = now_ns() / kMillisecond - silent;
  const int first = static_cast<int>(segment_->first_death(rank_at(machine, number()), when));
  return segment_->has_failed() ? "" : describe(first) + " died";
}

void Cluster::leave() {
  if (mesh_) mesh_->leave();
  segment_->leave();
}

}  // namespace tl::distributed

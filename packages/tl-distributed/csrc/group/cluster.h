// A group of ranks on several machines, of which some have several ranks: the ranks of a machine share
// memory, and the ranks of equal number in their machines are connected.
//
// As many ranks of each machine as the smallest machine has are a lane each: a mesh of the ranks of that
// number. The others reach other machines through their neighbours. A failure of one rank is told to its
// machine through the memory, and to other machines through the lanes.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "local/segment.h"
#include "network/door.h"
#include "network/mesh.h"

namespace tl::distributed {

// What connects a rank: the memory and the processes of its machine, the watch of its lane, its door.
struct ClusterLinks {
  Descriptor memory;
  std::vector<Descriptor> pidfds;
  std::vector<Descriptor> watch;  // to the rank of its number on each machine; empty without a lane
  std::unique_ptr<Door> door;
  const UcxLibrary* ucx = nullptr;  // what moves data between machines; none: connections do
};

class Cluster final : public Membership {
 public:
  // `machines` have the ranks of each machine.
  Cluster(int rank, std::vector<Member> members, std::string group_name,
          std::vector<std::vector<int>> machines, ClusterLinks links);

  struct Position {
    int machine, number;
  };
  const Position& position(int rank) const { return positions_[static_cast<size_t>(rank)]; }
  int machine() const { return position(rank()).machine; }
  int number() const { return position(rank()).number; }  // of this rank in its machine
  int machine_count() const { return static_cast<int>(machines_.size()); }
  const std::vector<int>& ranks_of(int machine) const { return machines_[static_cast<size_t>(machine)]; }
  // -1: that machine has no rank of that number.
  int rank_at(int machine, int number) const {
    const std::vector<int>& ranks = ranks_of(machine);
    return number < static_cast<int>(ranks.size()) ? ranks[static_cast<size_t>(number)] : -1;
  }
  bool is_even() const { return longest_ == lanes_; }  // all machines have as many ranks
  int lanes() const { return lanes_; }
  int rounds() const { return (longest_ + lanes_ - 1) / lanes_; }  // ranks of a machine that a lane serves

  Segment& segment() const { return *segment_; }
  Mesh* lane() const { return mesh_.get(); }  // none: this rank has no lane
  Door& door() const { return *door_; }

  bool has_failed() const override { return segment_->has_failed(); }
  void poison(const std::string& text) override { segment_->poison(text); }
  void leave() override;

 private:
  std::string failure() const override { return segment_->failure(); }
  Surroundings surroundings();
  std::string death_text(int machine, int64_t silent);

  std::vector<std::vector<int>> machines_;
  const UcxLibrary* ucx_;
  std::vector<Position> positions_;
  int lanes_, longest_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<Segment> segment_;
  std::atomic<Mesh*> told_{nullptr};
  std::unique_ptr<Mesh> mesh_;  // uses the rest
};

}  // namespace tl::distributed

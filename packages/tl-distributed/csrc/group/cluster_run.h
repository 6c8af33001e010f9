// A collective of ranks on several machines while it runs: its steps inside the machine and on this rank's
// lane.
#pragma once

#include <optional>

#include "group/cluster.h"
#include "group/local_steps.h"
#include "group/network_steps.h"
#include "group/run.h"

namespace tl::distributed {

class ClusterRun : public Run {
 public:
  ClusterRun(Cluster& cluster, const Call& call, const Deadline& deadline, bool compares_all,
             std::vector<char>& table)
      : Run(cluster, call, deadline), cluster(cluster), local(cluster.segment(), this->call(), deadline) {
    if (cluster.lane()) lane.emplace(*cluster.lane(), this->call(), deadline, table);
    if (!compares_all) return;
    local.step();
    if (lane) lane->barrier();
  }

  bool is_at(int root) const { return cluster.position(root).machine == cluster.machine(); }
  int machine_of(int root) const { return root < 0 ? -1 : cluster.position(root).machine; }
  // Those of a round in a machine, by the number of their lane in this one: the ranks that the lanes serve
  // then. Empty pieces where there are none.
  template <class F>
  Pieces in_round(int machine, int round, F&& piece_of) const {
    Pieces pieces(static_cast<size_t>(local.size()));
    for (int k = 0; k < cluster.lanes(); ++k) {
      const int rank = cluster.rank_at(machine, round * cluster.lanes() + k);
      if (rank >= 0) pieces[static_cast<size_t>(k)] = piece_of(rank);
    }
    return pieces;
  }
  // The rank of a machine that this rank's lane serves in a round; -1: none.
  int served(int machine, int round) const {
    return cluster.rank_at(machine, round * cluster.lanes() + cluster.number());
  }
  // Lanes give the ranks that they serve in a round what has come for them.
  void deliver(int round, Piece from, Piece to, int64_t most);

  // NOLINTBEGIN(misc-non-private-member-variables-in-classes): a run is the sum of these
  Cluster& cluster;
  LocalSteps local;
  std::optional<NetworkSteps> lane;
  // NOLINTEND(misc-non-private-member-variables-in-classes)
};

// The sums of a call: inside a machine, between machines, and what is left to be done.
class ClusterSum {
 public:
  ClusterSum(const ClusterRun& run, Reduction reduction)
      : n_(run.size()),
        divides_(reduction == Reduction::kAverage && !run.cluster.is_even()),
        between(divides_ ? Reduction::kSum : reduction),
        inside(between, run.call().dtype),
        element_(size_of_dtype(run.call().dtype)) {}
  void finish(Piece sum) const {
    if (divides_) inside.divide(sum.data, sum.bytes / element_, n_);
  }

 private:
  int n_;
  bool divides_;  // an average of averages is one only if all machines have as many ranks

 public:
  // NOLINTBEGIN(misc-non-private-member-variables-in-classes): read where a run's numbers are added
  const Reduction between;
  const Combiner inside;
  // NOLINTEND(misc-non-private-member-variables-in-classes)

 private:
  int64_t element_;
};

}  // namespace tl::distributed

// Gathers and all_to_all of ranks on several machines.
#pragma once

#include <vector>

#include "group/cluster_run.h"

namespace tl::distributed {

// root -1: all ranks get all inputs.
class ClusterGather {
 public:
  ClusterGather(ClusterRun& run, const Pieces& outputs, Piece input, int root)
      : run_(run), outputs_(outputs), input_(input), root_(root) {}
  void operator()();

 private:
  void block(int64_t at);
  void inside(int machine, int round, Piece own);
  void between(int round, const Pieces& buffers);
  Piece output(int rank) const {
    return outputs_.empty() ? Piece() : outputs_[static_cast<size_t>(rank)].part(at_, each_);
  }
  int64_t bytes_of(int rank) const { return root_ < 0 ? output(rank).bytes : input_.part(at_, each_).bytes; }
  Piece buffer(int rank);

  ClusterRun& run_;
  const Pieces& outputs_;
  Piece input_;
  int root_;
  int64_t at_ = 0, each_ = 0;
  std::vector<char> room_;  // for what a lane moves and does not keep: by rank
};

class ClusterExchange {
 public:
  ClusterExchange(ClusterRun& run, const Pieces& outputs, const Pieces& inputs)
      : run_(run), cluster_(run.cluster), outputs_(outputs), inputs_(inputs) {}
  void operator()();

 private:
  using Sizes = std::vector<int64_t>;
  void compare_sizes();
  void compare_inside() const;
  void compare_between();
  Sizes sizes_for(int machine) const;
  void exchange_inside();
  void collect(int machine, int round);
  void exchange_between();
  void deliver(int machine, int round);

  int64_t sent(int number, int to) const { return sizes_[static_cast<size_t>(number * 2 * n() + to)]; }
  int64_t expected(int number, int from) const {
    return sizes_[static_cast<size_t>(number * 2 * n() + n() + from)];
  }
  int n() const { return cluster_.size(); }
  template <class F>
  void for_each_served(int machine, F&& body) const;  // rank that this lane serves there
  int64_t bytes_from(int machine, int to) const;      // of all ranks of a machine for a rank of this one

  ClusterRun& run_;
  Cluster& cluster_;
  const Pieces& outputs_;
  const Pieces& inputs_;
  Sizes sizes_;  // of each rank of this machine: what it sends to each, and what it expects of each
  std::vector<std::vector<char>> out_, in_;  // by machine: what this lane sends and has received
};

}  // namespace tl::distributed

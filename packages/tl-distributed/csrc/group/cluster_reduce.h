// all_reduce and reduce of ranks on several machines.
#pragma once

#include "group/cluster_run.h"

namespace tl::distributed {

class ClusterReduce {
 public:
  // root -1: all ranks get the result.
  ClusterReduce(ClusterRun& run, Piece data, Reduction reduction, int root)
      : run_(run), data_(data), root_(root), root_machine_(run.machine_of(root)), sum_(run, reduction) {}
  void operator()();

 private:
  void small();
  void large();
  void pipeline(int64_t blocks);
  Frames outgoing(int64_t block);
  Frames incoming(int64_t block);
  void gather_inside(int64_t block);
  void reduce_inside(int64_t block);
  bool find_arena();
  Piece block(int64_t index) const { return data_.part(index * each_ * lanes(), each_ * lanes()); }
  Piece part(int64_t block, int lane) const { return this->block(block).part(lane * each_, each_); }
  Piece own(int64_t block);  // this lane's part in a buffer
  int lanes() const { return run_.cluster.lanes(); }
  int number() const { return run_.cluster.number(); }
  bool gets_inside() const { return root_ < 0 || run_.is_at(root_); }

  static constexpr int kBuffers =
      4;  // a block is reduced here, two are between machines, one is gathered here
  ClusterRun& run_;
  Piece data_;
  int root_, root_machine_;
  ClusterSum sum_;
  std::vector<char> buffers_;
  int64_t each_ = 0;     // of a block, for a lane
  int64_t offset_ = -1;  // in the arena
};

}  // namespace tl::distributed

// The collectives of ranks on several machines that have several ranks: a part inside the machines, through
// memory, and a part between them, on lanes. A byte that another machine needs is sent to it once.
#pragma once

#include <vector>

#include "group/cluster.h"
#include "group/collectives.h"

namespace tl::distributed {

class ClusterCollectives final : public Collectives {
 public:
  ClusterCollectives(Cluster& cluster, bool compares_all) : cluster_(cluster), compares_all_(compares_all) {}

  Membership& members() override { return cluster_; }
  void all_reduce(Piece data, int64_t dtype, Reduction reduction, int root,
                  const Deadline& deadline) override;
  void broadcast(const Pieces& data, int64_t dtype, int root, const Deadline& deadline) override;
  void all_gather(const Pieces& outputs, Piece input, int64_t dtype, int root,
                  const Deadline& deadline) override;
  void scatter(Piece output, const Pieces& inputs, int64_t dtype, int root,
               const Deadline& deadline) override;
  void reduce_scatter(Piece output, const Pieces& inputs, int64_t dtype, Reduction reduction,
                      const Deadline& deadline) override;
  void all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t dtype,
                  const Deadline& deadline) override;
  void barrier(const Deadline& deadline) override;

 private:
  friend class ClusterRun;
  Cluster& cluster_;
  bool compares_all_;
  std::vector<char> table_;  // received numbers to reduce, a row for each machine
};

}  // namespace tl::distributed

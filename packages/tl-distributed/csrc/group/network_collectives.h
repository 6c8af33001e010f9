// The collectives of ranks that a network connects. Every rank talks to every other; sums are taken in the
// order of the ranks, each element for itself, so their bits are those of the local ones.
#pragma once

#include <vector>

#include "group/collectives.h"
#include "network/mesh.h"

namespace tl::distributed {

class NetworkCollectives final : public Collectives {
 public:
  // `compares_all`: before each call all ranks compare what they call, also those that exchange nothing in
  // it.
  NetworkCollectives(Mesh& mesh, bool compares_all) : mesh_(mesh), compares_all_(compares_all) {}

  Membership& members() override { return mesh_; }
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
  class NetworkRun;
  Mesh& mesh_;
  bool compares_all_;
  std::vector<char> table_;  // received numbers to reduce, a row for each rank
};

}  // namespace tl::distributed

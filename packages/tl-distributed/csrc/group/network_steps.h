// The exchanges of a collective between ranks that a network connects, and the algorithms that consist of
// them. Up to kDirectRanks, every rank exchanges with every other. Beyond, rings move large tensors, and
// recursive doubling and trees small ones.
#pragma once

#include <vector>

#include "base/pieces.h"
#include "group/reduction.h"
#include "network/exchange.h"

namespace tl::distributed {

inline constexpr int kDirectRanks = 8;
inline constexpr int64_t kShare = 4 << 20;  // of a rank in a block of a larger tensor, at most

inline int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }
// The part of a tensor that one of n ranks cares for: whole cache lines.
Piece share_of(Piece whole, int rank, int n);
std::pair<int64_t, int64_t> share_of(int64_t whole, int rank, int n);
// The part of some pieces from `offset` on.
Pieces range(const Pieces& pieces, int64_t offset, int64_t bytes);

class NetworkSteps {
 public:
  NetworkSteps(Mesh& mesh, const Call& call, const Deadline& deadline, std::vector<char>& table)
      : mesh_(mesh), call_(call), deadline_(deadline), table_(table) {}

  int rank() const { return mesh_.rank(); }
  int size() const { return mesh_.size(); }
  bool is_direct() const { return size() <= kDirectRanks; }
  Mesh& mesh() const { return mesh_; }
  const Call& call() const { return call_; }
  const Deadline& deadline() const { return deadline_; }

  void exchange(const Frames& outgoing, const Frames& incoming) {
    mesh_.exchange(outgoing, incoming, call_, deadline_);
  }
  // A frame for, or from, each other rank.
  template <class F>
  Frames frames(F&& pieces_of) const {
    Frames every;
    for (int k = 1; k < size(); ++k) {  // each rank begins with its neighbour
      const int peer = (rank() + k) % size();
      every.push_back({peer, pieces_of(peer)});
    }
    return every;
  }
  // The rows in which the operands of a sum arrive.
  char* row(int rank, int64_t pitch);
  void reduce_rows(const Combiner& combiner, Piece own, Piece out, int64_t pitch);

  void barrier();
  // In place; root -1: all ranks get the result. Up to kDirectBytes, and for any size.
  void all_reduce_small(Piece data, Reduction reduction, int root);
  void all_reduce_large(Piece data, Reduction reduction, int root);
  void reduce_scatter(Piece output, const Pieces& inputs, Reduction reduction);
  void broadcast(const Pieces& data, int root);
  void all_gather(const Pieces& outputs, Piece input);
  void gather(const Pieces& outputs, Piece input, int root);
  void scatter(Piece output, const Pieces& inputs, int root);
  void all_to_all(const Pieces& outputs, const Pieces& inputs);

 private:
  int around(int steps) const { return ((rank() + steps) % size() + size()) % size(); }
  void pass_on(const Pieces& out, const Pieces& in) {  // to the next rank of the ring, from the one before
    exchange({{around(1), out}}, {{around(-1), in}});
  }
  void all_reduce_blocks(Piece data, Reduction reduction, int root);
  void all_reduce_ring(Piece data, Reduction reduction, int root);
  void all_reduce_doubling(Piece data, Reduction reduction);
  void reduce_scatter_ring(Piece output, const Pieces& inputs, Reduction reduction);
  void broadcast_tree(const Pieces& data, int root);

  Mesh& mesh_;
  const Call& call_;
  const Deadline& deadline_;
  std::vector<char>& table_;
};

}  // namespace tl::distributed

// What the ranks of a group do together, over their segment. One call at a time; all ranks in the same order.
#pragma once

#include <memory>

#include "group/pieces.h"
#include "local/segment.h"

namespace tl::distributed {

class Collectives {
 public:
  explicit Collectives(std::unique_ptr<Segment> segment) : segment_(std::move(segment)) {}

  Segment& segment() { return *segment_; }

  // In place; root -1: all ranks get the result.
  void all_reduce(Piece data, int64_t dtype, Reduction reduction, int root, const Patience& patience);
  void broadcast(const Pieces& data, int64_t dtype, int root, const Patience& patience);
  // outputs[i] = the input of rank i; root -1: on all ranks, else there only and elsewhere `outputs` is
  // empty.
  void all_gather(const Pieces& outputs, Piece input, int64_t dtype, int root, const Patience& patience);
  void scatter(Piece output, const Pieces& inputs, int64_t dtype, int root, const Patience& patience);
  void reduce_scatter(Piece output, const Pieces& inputs, int64_t dtype, Reduction reduction,
                      const Patience& patience);
  void all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t dtype, const Patience& patience);
  void barrier(const Patience& patience);
  // Names the ranks that don't come in time: the first of them, or all.
  void monitored_barrier(const Patience& patience, bool all);

 private:
  uint64_t sequence_ = 0;
  std::unique_ptr<Segment> segment_;
};

}  // namespace tl::distributed

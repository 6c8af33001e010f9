// The collectives of ranks that share memory.
#pragma once

#include "group/collectives.h"
#include "local/segment.h"

namespace tl::distributed {

class LocalCollectives final : public Collectives {
 public:
  explicit LocalCollectives(Segment& segment) : segment_(segment) {}

  Membership& members() override { return segment_; }
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
  Segment& segment_;
};

}  // namespace tl::distributed

// The collectives of a group. One call at a time; all ranks in the same order.
#pragma once

#include <memory>

#include "base/pieces.h"
#include "ranks/membership.h"

namespace tl::distributed {

// Up to this size, each rank reduces all elements of a tensor itself.
inline constexpr int64_t kDirectBytes = 32 << 10;

class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual Membership& members() = 0;

  // In place; root -1: all ranks get the result.
  virtual void all_reduce(Piece data, int64_t dtype, Reduction reduction, int root,
                          const Deadline& deadline) = 0;
  virtual void broadcast(const Pieces& data, int64_t dtype, int root, const Deadline& deadline) = 0;
  // outputs[i] = the input of rank i; root -1: on all ranks, else there only and elsewhere `outputs` is
  // empty.
  virtual void all_gather(const Pieces& outputs, Piece input, int64_t dtype, int root,
                          const Deadline& deadline) = 0;
  virtual void scatter(Piece output, const Pieces& inputs, int64_t dtype, int root,
                       const Deadline& deadline) = 0;
  virtual void reduce_scatter(Piece output, const Pieces& inputs, int64_t dtype, Reduction reduction,
                              const Deadline& deadline) = 0;
  virtual void all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t dtype,
                          const Deadline& deadline) = 0;
  virtual void barrier(const Deadline& deadline) = 0;

 protected:
  // The fingerprint of the next call. `shape` are the sizes on which all ranks have to agree.
  Call next_call(Kind kind, int64_t dtype, int64_t bytes, const Pieces& shape = {});

 private:
  uint64_t sequence_ = 0;
};

}  // namespace tl::distributed

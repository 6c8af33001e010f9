// The steps of a collective through the slots of ranks that share memory.
#pragma once

#include <functional>

#include "base/pieces.h"
#include "group/reduction.h"
#include "local/segment.h"

namespace tl::distributed {

inline constexpr int64_t kPart =
    256 << 10;  // of a tensor in a slot: it is read while it is in the writer's cache

// Bytes of n equal parts of a slot, whole cache lines.
inline int64_t part_of_slot(int n) { return std::min(kPart, kSlotBytes / n / 64 * 64); }

class LocalSteps {
 public:
  // Posts the fingerprint; the ranks' are compared after the first step.
  LocalSteps(Segment& segment, const Call& call, const Deadline& deadline)
      : segment_(segment), call_(call), deadline_(deadline) {
    segment.post(call);
  }

  // All ranks arrive; what they wrote before can be read afterwards.
  void step();
  // Called after each step: moves that go on meanwhile.
  void between(std::function<void()> work) { between_ = std::move(work); }

  // This rank's slot of the next step, and any rank's of the step that all have arrived at.
  char* own() const { return segment_.slot(rank(), segment_.step() + 1); }
  char* of(int rank) const { return segment_.slot(rank, segment_.step()); }

  Segment& segment() const { return segment_; }
  const Call& call() const { return call_; }
  const Deadline& deadline() const { return deadline_; }
  int rank() const { return segment_.rank(); }
  int size() const { return segment_.size(); }

  // Pieces are by rank; `most` is the size of the longest one, the same on all ranks.
  void reduce_scatter(Piece output, const Pieces& inputs, const Combiner& combiner, int64_t most);
  void all_gather(const Pieces& outputs, Piece input, int64_t most);
  void scatter(Piece output, const Pieces& inputs, int root, int64_t most);
  void all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t most);
  void broadcast(const Pieces& data, int root);  // pieces are laid one behind the other

 private:
  void compare() const;

  Segment& segment_;
  const Call& call_;
  const Deadline& deadline_;
  std::function<void()> between_;
  bool compared_ = false;
};

}  // namespace tl::distributed

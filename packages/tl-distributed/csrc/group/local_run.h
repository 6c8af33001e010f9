// A collective of ranks that share memory: its steps through the slots.
#pragma once

#include "base/pieces.h"
#include "group/run.h"
#include "local/segment.h"

namespace tl::distributed {

class LocalRun : public Run {
 public:
  // Posts the fingerprint; the ranks' are compared after the first step.
  LocalRun(Segment& segment, const Call& call, const Deadline& deadline);

  // All ranks arrive; what they wrote before can be read afterwards.
  void step();

  // This rank's slot of the next step, and any rank's of the step that all have arrived at.
  char* own() const { return segment_.slot(rank(), segment_.step() + 1); }
  char* of(int rank) const { return segment_.slot(rank, segment_.step()); }

  Segment& segment() const { return segment_; }

 private:
  void compare() const;

  Segment& segment_;
  bool compared_ = false;
};

}  // namespace tl::distributed

// One collective while it runs: its fingerprint, its steps, its record.
#pragma once

#include "base/pieces.h"
#include "group/record_scope.h"
#include "local/segment.h"

namespace tl::distributed {

class Running {
 public:
  // Posts the fingerprint; the ranks' are compared after the first step.
  Running(Segment& segment, const Call& call, const Deadline& deadline);

  // All ranks arrive; what they wrote before can be read afterwards.
  void step();

  // This rank's slot of the next step, and any rank's of the step that all have arrived at.
  char* own() const { return segment_.slot(segment_.rank(), segment_.step() + 1); }
  char* of(int rank) const { return segment_.slot(rank, segment_.step()); }

  Segment& segment() const { return segment_; }
  const Call& call() const { return call_; }
  int rank() const { return segment_.rank(); }
  int size() const { return segment_.size(); }
  bool first_step_is_done() const { return compared_; }

 private:
  void compare() const;

  Segment& segment_;
  Call call_;
  const Deadline& deadline_;
  RecordScope record_scope_;
  bool compared_ = false;
};

}  // namespace tl::distributed

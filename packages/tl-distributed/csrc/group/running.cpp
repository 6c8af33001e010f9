// A running collective: compares fingerprints at its first step, notes its stages in the flight recorder.
#include "group/running.h"

namespace tl::distributed {

Running::Running(Segment& segment, const Call& call, const Deadline& deadline)
    : segment_(segment), call_(call), deadline_(deadline), record_scope_(segment, call_) {
  segment.post(call_);
}

void Running::step() {
  segment_.arrive();
  segment_.await_all(call_, deadline_);
  if (!compared_) compare();
  compared_ = true;
}

void Running::compare() const {
  const Call& first = segment_.posted(0);
  for (int i = 1; i < size(); ++i) {
    if (segment_.posted(i).agrees(first)) continue;
    segment_.disagree(0, first, i, segment_.posted(i));
  }
}

}  // namespace tl::distributed

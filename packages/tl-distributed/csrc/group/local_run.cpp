// A running collective in shared memory: the ranks' fingerprints are compared at its first step.
#include "group/local_run.h"

namespace tl::distributed {

LocalRun::LocalRun(Segment& segment, const Call& call, const Deadline& deadline)
    : Run(segment, call, deadline), segment_(segment) {
  segment.post(this->call());
}

void LocalRun::step() {
  segment_.arrive();
  segment_.await_all(call(), deadline());
  if (!compared_) compare();
  compared_ = true;
}

void LocalRun::compare() const {
  const Call& first = segment_.posted(0);
  for (int i = 1; i < size(); ++i) {
    if (segment_.posted(i).agrees(first)) continue;
    segment_.disagree(0, first, i, segment_.posted(i));
  }
}

}  // namespace tl::distributed

#include "group/running.h"

#include <exception>

#include "base/clock.h"

namespace tl::distributed {

Running::Running(Segment& segment, const Call& call, const Patience& patience)
    : segment_(segment), call_(call), patience_(patience), unwinding_(std::uncaught_exceptions()) {
  segment.check_failed(text_of(call));
  call_.began = now_ns();
  record_ = Recorder::instance().begin(call_, segment.group_name(),
                                       static_cast<int>(segment.global_rank(segment.rank())));
  segment.post(call_);
}

Running::~Running() { Recorder::end(record_, std::uncaught_exceptions() == unwinding_); }

void Running::step() {
  segment_.arrive();
  segment_.await_all(call_, patience_);
  if (!compared_) compare();
  compared_ = true;
}

void Running::compare() const {
  const Call& first = segment_.posted(0);
  for (int i = 1; i < size(); ++i) {
    if (segment_.posted(i).agrees(first)) continue;
    segment_.fail("the ranks of group " + segment_.group_name() + " disagree: " + segment_.describe(0) +
                  " called " + text_of(first) + ", " + segment_.describe(i) + " called " +
                  text_of(segment_.posted(i)));
  }
}

}  // namespace tl::distributed

// A call in the flight recorder, from its beginning to its end.
#pragma once

#include <exception>

#include "base/clock.h"
#include "group/recorder.h"
#include "ranks/membership.h"

namespace tl::distributed {

class RecordScope {
 public:
  // Throws if the group has failed before.
  RecordScope(const Membership& members, Call& call) : unwinding_(std::uncaught_exceptions()) {
    members.check_failed(text_of(call));
    call.began = now_ns();
    record_ = Recorder::instance().begin(call, members.group_name(),
                                         static_cast<int>(members.global_rank(members.rank())));
  }
  ~RecordScope() { Recorder::end(record_, std::uncaught_exceptions() == unwinding_); }
  RecordScope(const RecordScope&) = delete;

 private:
  Record* record_;
  int unwinding_;
};

}  // namespace tl::distributed

// One collective call of this rank while it runs: its fingerprint, its deadline, its record.
#pragma once

#include "group/record_scope.h"

namespace tl::distributed {

class Run {
 public:
  Run(const Membership& members, const Call& call, const Deadline& deadline)
      : members_(members), call_(call), deadline_(deadline), record_scope_(members, call_) {}

  const Call& call() const { return call_; }
  const Deadline& deadline() const { return deadline_; }
  int rank() const { return members_.rank(); }
  int size() const { return members_.size(); }

 private:
  const Membership& members_;
  Call call_;
  const Deadline& deadline_;
  RecordScope record_scope_;
};

}  // namespace tl::distributed

// A collective of ranks that share memory, while it runs.
#pragma once

#include "group/local_steps.h"
#include "group/run.h"

namespace tl::distributed {

class LocalRun : private Run, public LocalSteps {
 public:
  LocalRun(Segment& segment, const Call& call, const Deadline& deadline)
      : Run(segment, call, deadline), LocalSteps(segment, Run::call(), deadline) {}

  using LocalSteps::call;
  using LocalSteps::deadline;
  using LocalSteps::rank;
  using LocalSteps::size;
};

}  // namespace tl::distributed

// The events of a recording that are alike, added up: what tables are made of.
#pragma once

#include <functional>

#include "profile/recorded_events.h"

namespace tl {

struct SumOptions {
  bool modules = false;  // count as events of their own
  bool shapes = false;   // what differs in the sizes of its inputs is not alike
  bool stacks = false;   // nor what differs in its stack
  // Floating point operations of an event, by its place; asked once for all that have the same arguments.
  std::function<int64_t(size_t)> operations;
};

// Nanoseconds and bytes; `own`: without what ran inside.
struct EventSum {
  size_t first;  // the place of the one that began first
  int64_t count = 0, time = 0, own_time = 0, memory = 0, own_memory = 0, operations = 0;
};

// In the order in which their first events began.
std::vector<EventSum> sum_events(const Recording& recording, const SumOptions& options);

}  // namespace tl

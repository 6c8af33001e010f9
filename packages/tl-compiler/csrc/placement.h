// Where a program's results lie in memory: temporaries share one arena, and a result takes over the memory of
// a temporary that its group reads for the last time.
#pragma once

#include <vector>

#include "division.h"

namespace tl::compiler {

// A result of the last group that may take over the memory of an input.
struct Offer {
  int step, input;
};

struct Placement {
  std::vector<int> donors;       // a step's: the step whose memory its result takes over, or -1
  std::vector<int64_t> offsets;  // a step's: the offset of its result in the arena, or -1
  int64_t bytes = 0;             // of the arena
  int last_group = -1;           // that reads the arena
  std::vector<Offer> offers;
};

// `wanted`: the steps whose results somebody holds, whose memory is their own.
Placement plan_memory(const std::vector<Step>& steps, const std::vector<int>& wanted,
                      const Division& division);

}  // namespace tl::compiler

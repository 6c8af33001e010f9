// What a program need not compute yet: results that only nodes of the graph hold, where what they are
// computed from takes fewer bytes than they do.
#pragma once

#include <vector>

#include "program.h"

namespace tl::compiler {

// Who holds the results of a program when it is computed.
struct Holders {
  std::vector<int> held;            // steps whose results somebody holds beside nodes
  std::vector<int> saved;           // steps whose results only nodes hold
  std::vector<int64_t> input_cost;  // one an input: its bytes, or 0 where a node holds it in any case
  std::vector<int64_t> step_cost;   // one a step, likewise
};

struct Remainder {
  std::vector<int> stored;  // the steps to compute now, in their order
  std::vector<int> left;    // of the saved ones, those that stay as they are
};

Remainder remainder_of(const std::vector<Step>& steps, const Holders& holders);

// The steps of which what is left consists. Results in `stored` are read from memory.
std::vector<char> steps_of(const std::vector<Step>& steps, const Remainder& remainder);

}  // namespace tl::compiler

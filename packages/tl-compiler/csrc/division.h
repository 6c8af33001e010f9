// A program divided into groups: steps over the same elements in the same order, or over the same rows, which
// one pass computes, and calls on whole tensors.
#pragma once

#include <vector>

#include "program.h"

namespace tl::compiler {

struct Group {
  Geometry geometry;       // of all results, if the group is neither of the following
  std::vector<int> steps;  // in their order
  int64_t rows = 0;        // of all results, in a group that a pass over rows computes
  bool is_call = false;    // the group is one call on whole tensors
};

struct Division {
  std::vector<Group> groups;  // in their order
  std::vector<int> group_of;  // a step's; -1: nobody needs it
  std::vector<char> stored;   // whether a step's result goes to memory
  std::vector<std::vector<int>>
      last_read;  // a group's: stored results that no later one reads, nor anybody else
};

// `wanted`: the steps whose results somebody holds.
Division divide(const std::vector<Step>& steps, const std::vector<int>& wanted);

}  // namespace tl::compiler

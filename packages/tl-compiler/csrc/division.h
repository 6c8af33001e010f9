// A program divided into groups: steps over the same elements in the same order, which one pass computes.
#pragma once

#include <vector>

#include "program.h"

namespace tl::compiler {

struct Group {
  Geometry geometry;       // of all results
  std::vector<int> steps;  // in their order
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
// Whether a step reads an element of another's result where it writes its own.
bool reads_in_place(const Step& step, const Operand& input, const std::vector<Step>& steps);

}  // namespace tl::compiler

// A call as steps: what tl-core says of calls over such arguments, kept for the next one.
#pragma once

#include <memory>
#include <vector>

#include "program.h"

namespace tl::compiler {

// The smallest result that waits: below, a call costs less than its record.
inline constexpr int64_t kMinElements = 1024;

struct Recipe {
  // Inputs are arguments (`Input`, with the argument's index) or earlier steps of the recipe (`Step`).
  std::vector<Step> steps;
  std::vector<int64_t> results;  // a step, or -1 - i for the i-th argument itself
  bool waits = false;            // whether calls like this one wait at all
  bool is_small = false;         // they wait only for what waits itself
  uint64_t id = 0;               // of a recipe that is kept; two of them never have the same
};

// Of the thread. The recipe is good until the next call.
const Recipe& recipe_for(const TlOperator* op, const TlValue* args, int n_args, int n_rets);

}  // namespace tl::compiler

// What losses share: the reduction of the losses of all elements, as a number.
#pragma once

#include "base/error.h"
#include "ops.h"

namespace tl {

enum Reduction : int64_t { kNone, kMean, kSum };

inline void check_reduction(const char* name, int64_t reduction) {
  TL_CHECK(reduction >= kNone && reduction <= kSum, Value, name, "(): reduction must be 0, 1 or 2, got ",
           reduction);
}

inline Tensor reduced_losses(const char* name, const Tensor& losses, int64_t reduction) {
  check_reduction(name, reduction);
  if (reduction == kNone) return losses;
  return reduction == kMean ? ops::mean(losses) : ops::sum(losses);
}

}  // namespace tl

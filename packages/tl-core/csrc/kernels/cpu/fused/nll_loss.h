// Losses of scores (samples, classes, positions) against one class for each sample and position.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

struct ClassShape {
  int64_t samples, classes, positions;
};

struct ClassTargets {
  const int64_t* data;  // a class each, within bounds, or `ignored`
  int64_t ignored;
  const void* weight;  // by class, in the compute type of the scores; null: 1
};

// The logarithm of the sum of exponentials over the classes, in the compute type.
void class_log_sums(DType dtype, const ClassShape& shape, const char* scores, void* log_sums);

struct ClassTotals {
  double loss, weight;
};

// The weighted losses log_sum - score, where log_sums may be null; their sum and that of the weights. The
// losses go to `out`, in the compute type, unless it is null.
ClassTotals class_loss(DType dtype, const ClassShape& shape, const char* scores, const ClassTargets& targets,
                       const void* log_sums, void* out);

// The gradient of the scores. `grad` has one number for each loss or, with `grad_step` 0, one for all, in the
// compute type; it is multiplied by `factor`. Without log_sums the scores are not read.
void class_loss_backward(DType dtype, const ClassShape& shape, const char* scores,
                         const ClassTargets& targets, const void* log_sums, const void* grad,
                         int64_t grad_step, double factor, char* out);

}  // namespace tl::cpu

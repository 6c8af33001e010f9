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

// The gradients of the losses: a number each or, with a step of 0, one for all, in the compute type; times
// `factor`.
struct ClassLossGradients {
  const void* data;
  int64_t step;
  double factor;
};

// The gradient of the scores. Without log_sums the scores are not read.
void class_loss_backward(DType dtype, const ClassShape& shape, const char* scores,
                         const ClassTargets& targets, const void* log_sums, const ClassLossGradients& grad,
                         char* out);

}  // namespace tl::cpu

// Normalization: subtract the mean, divide by the standard deviation, scale and shift. Statistics, weights
// and their gradients are in the compute type of the dtype (float for halves).
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

// Dense elements (samples, groups, channels, length). The statistics are those of each group of each sample
// or, with `across`, of each group over all samples; the latter has one channel a group. Weights number the
// groups * channels.
struct NormShape {
  int64_t samples, groups, channels, length;
  bool across = false;

  int64_t units() const { return across ? groups : samples * groups; }
  int64_t unit_size() const { return across ? samples * length : channels * length; }
  int64_t weights() const { return groups * channels; }
};

struct NormForward {
  const char* input;
  const void *weight, *bias;  // null: 1 and 0
  char* output;
  void *mean, *rstd;  // a number for each unit: results, or given with `fixed`
  void* variance;     // a result, unless null
  double eps;
  bool centered;  // false: the mean counts as 0
  bool fixed;
};

// A gradient whose pointer is null is not wanted.
struct NormBackward {
  const char *grad, *input;
  const void *mean, *rstd, *weight;
  char* grad_input;
  void *grad_weight, *grad_bias;
  bool centered, fixed;
};

void norm(DType dtype, const NormShape& shape, const NormForward& call);
void norm_backward(DType dtype, const NormShape& shape, const NormBackward& call);

}  // namespace tl::cpu

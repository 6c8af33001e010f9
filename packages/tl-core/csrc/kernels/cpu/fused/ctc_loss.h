// Connectionist temporal classification: the likelihood of sequences of labels over all alignments, and its
// gradient (Graves et al., Connectionist Temporal Classification, 2006).
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

struct CtcShape {
  int64_t steps, samples, classes, labels;  // labels: the most of a sample
  int64_t blank;

  int64_t states() const { return 2 * labels + 1; }  // blanks and labels in turn
};

// Within bounds: of samples, how many steps and labels count.
struct CtcTargets {
  const int64_t *labels, *steps, *counts;  // [samples][labels], [samples], [samples]
};

// Of Float32 or Float64, all dense: log_probs [steps][samples][classes], losses [samples],
// alphas [samples][steps][states].
struct CtcKernels {
  // The negative logarithms of the likelihoods; alphas are those of what a step and a state have come from.
  void (*losses)(const CtcShape& s, const CtcTargets& t, const char* log_probs, char* losses, char* alphas);
  // By the scores before their log-softmax, zero where a loss is infinite.
  void (*backward)(const CtcShape& s, const CtcTargets& t, const char* log_probs, const char* grad,
                   const char* losses, const char* alphas, char* out);
};
const CtcKernels& ctc_kernels(DType dtype);

}  // namespace tl::cpu

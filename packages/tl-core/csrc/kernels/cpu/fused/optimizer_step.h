// One step of an optimizer over one parameter: dense arrays of n elements of one dtype, Float32, Float64,
// BFloat16 or Float16. Arithmetic is in the compute type.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

struct SgdStep {
  double lr, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  bool first = false;  // the momentum buffer holds nothing yet: it becomes the gradient
};
// `buffer` is null without momentum.
void sgd_step(DType dtype, int64_t n, char* param, const char* grad, char* buffer, const SgdStep& step);

struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay = 0;
  double step;             // counts from 1
  bool decoupled = false;  // AdamW: the decay acts on the parameter, not through the gradient
  bool maximize = false;
};
// `max_exp_avg_sq` (AMSGrad's running maximum) may be null.
void adam_step(DType dtype, int64_t n, char* param, const char* grad, char* exp_avg, char* exp_avg_sq,
               char* max_exp_avg_sq, const AdamStep& step);

struct AdagradStep {
  double lr, lr_decay, weight_decay, eps;
  double step;  // counts from 1
  bool maximize = false;
};
void adagrad_step(DType dtype, int64_t n, char* param, const char* grad, char* sum, const AdagradStep& step);

}  // namespace tl::cpu

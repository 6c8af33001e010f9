// Fused SGD, Adam, AdamW and Adagrad steps over lists of parameters: checks, and one kernel call a parameter.
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/fused/optimizer_step.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"

namespace tl {

namespace {
// A kernel runs over dense memory; a tensor with gaps is updated through a dense copy.
class Dense {
 public:
  explicit Dense(const Tensor& t) : original_(t), dense_(to_contiguous(t)) {}
  ~Dense() {
    if (!dense_.same(original_)) copy_elements(original_, dense_);
  }
  Dense(const Dense&) = delete;
  char* data() const { return dense_.ptr<char>(); }

 private:
  const Tensor& original_;
  Tensor dense_;
};

void check_list(const char* op, const char* name, TensorList params, TensorList list) {
  TL_CHECK(list.size() == params.size(), Runtime, op, "(): argument '", name,
           "' must have as many tensors as self (", params.size(), "), got ", list.size());
  for (size_t i = 0; i < list.size(); ++i)
    TL_CHECK(std::ranges::equal(list[i].sizes(), params[i].sizes()) && list[i].dtype() == params[i].dtype(),
             Runtime, op, "(): tensor ", i, " of '", name, "' must have the parameter's shape ",
             params[i].sizes(), " and type ", dtype_name(params[i].dtype()), ", got ", list[i].sizes(),
             " and ", dtype_name(list[i].dtype()));
}

void check_params(const char* op, TensorList params) {
  for (size_t i = 0; i < params.size(); ++i) {
    TL_CHECK(is_floating(params[i].dtype()), Runtime, op, "(): tensor ", i,
             " of self must be of a floating-point type, got ", dtype_name(params[i].dtype()));
    TL_CHECK(params[i].device().is_cpu(), Runtime, op, "(): tensor ", i, " of self must be on the CPU, got ",
             device_name(params[i].device()));
    check_no_internal_overlap(params[i]);
  }
}

void check_steps(const char* op, TensorList params, TensorList steps) {
  TL_CHECK(steps.size() == params.size(), Runtime, op,
           "(): argument 'state_steps' must have as many tensors as self (", params.size(), "), got ",
           steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    TL_CHECK(steps[i].numel() == 1, Runtime, op, "(): tensor ", i,
             " of 'state_steps' must have one element, got ", steps[i].numel());
}

double count_of(const Tensor& step) { return load_scalar(step.dtype(), step.data()).to_double(); }

void fused_sgd(const FusedSgdArgs& a) {
  check_params("_fused_sgd_", a.self);
  check_list("_fused_sgd_", "grads", a.self, a.grads);
  const TensorList buffers = a.momentum_buffer_list;
  if (!buffers.empty()) check_list("_fused_sgd_", "momentum_buffer_list", a.self, buffers);
  const cpu::SgdStep step{a.lr,       a.momentum, a.dampening,    a.weight_decay,
                          a.nesterov, a.maximize, a.is_first_step};
  for (size_t i = 0; i < a.self.size(); ++i) {
    const DType type = a.self[i].dtype();
    const int64_t n = a.self[i].numel();
    const Dense param(a.self[i]);
    const Tensor grad = to_contiguous(a.grads[i]);
    if (buffers.empty()) {
      cpu::sgd_step(type, n, param.data(), grad.ptr<char>(), nullptr, step);
    } else {
      const Dense buffer(buffers[i]);
      cpu::sgd_step(type, n, param.data(), grad.ptr<char>(), buffer.data(), step);
    }
  }
}

// `Args` are those of _fused_adam_ or, with decoupled weight decay, of _fused_adamw_.
template <class Args>
void adam(const char* name, bool decoupled, const Args& a) {
  check_params(name, a.self);
  check_list(name, "grads", a.self, a.grads);
  check_list(name, "exp_avgs", a.self, a.exp_avgs);
  check_list(name, "exp_avg_sqs", a.self, a.exp_avg_sqs);
  if (a.amsgrad) check_list(name, "max_exp_avg_sqs", a.self, a.max_exp_avg_sqs);
  check_steps(name, a.self, a.state_steps);
  for (size_t i = 0; i < a.self.size(); ++i) {
    const DType type = a.self[i].dtype();
    const int64_t n = a.self[i].numel();
    const cpu::AdamStep step{a.lr,      a.beta1,   a.beta2, a.eps, a.weight_decay, count_of(a.state_steps[i]),
                             decoupled, a.maximize};
    const Dense param(a.self[i]), exp_avg(a.exp_avgs[i]), exp_avg_sq(a.exp_avg_sqs[i]);
    const Tensor grad = to_contiguous(a.grads[i]);
    if (a.amsgrad) {
      const Dense max_exp_avg_sq(a.max_exp_avg_sqs[i]);
      cpu::adam_step(type, n, param.data(), grad.ptr<char>(), exp_avg.data(), exp_avg_sq.data(),
                     max_exp_avg_sq.data(), step);
    } else {
      cpu::adam_step(type, n, param.data(), grad.ptr<char>(), exp_avg.data(), exp_avg_sq.data(), nullptr,
                     step);
    }
  }
}

void fused_adam(const FusedAdamArgs& a) { adam("_fused_adam_", false, a); }
void fused_adamw(const FusedAdamwArgs& a) { adam("_fused_adamw_", true, a); }

void fused_adagrad(const FusedAdagradArgs& a) {
  check_params("_fused_adagrad_", a.self);
  check_list("_fused_adagrad_", "grads", a.self, a.grads);
  check_list("_fused_adagrad_", "state_sums", a.self, a.state_sums);
  check_steps("_fused_adagrad_", a.self, a.state_steps);
  for (size_t i = 0; i < a.self.size(); ++i) {
    const cpu::AdagradStep step{a.lr,      a.lr_decay, a.weight_decay, a.eps, count_of(a.state_steps[i]),
                                a.maximize};
    const Dense param(a.self[i]), sum(a.state_sums[i]);
    const Tensor grad = to_contiguous(a.grads[i]);
    cpu::adagrad_step(a.self[i].dtype(), a.self[i].numel(), param.data(), grad.ptr<char>(), sum.data(), step);
  }
}
}  // namespace

TL_KERNEL(_fused_sgd_, fused_sgd)
TL_KERNEL(_fused_adam_, fused_adam)
TL_KERNEL(_fused_adamw_, fused_adamw)
TL_KERNEL(_fused_adagrad_, fused_adagrad)

}  // namespace tl

// Fused optimizer steps over lists of parameters.
#include "iter/dtypes.h"
#include "kernels/cpu/fused/optimizer_step.h"
#include "ops.h"
#include "ops/copy.h"
#include "ops/elementwise.h"

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

void fused_sgd(TensorList self, TensorList grads, TensorList buffers, double weight_decay, double momentum,
               double lr, double dampening, bool nesterov, bool maximize, bool is_first_step) {
  check_params("_fused_sgd_", self);
  check_list("_fused_sgd_", "grads", self, grads);
  if (!buffers.empty()) check_list("_fused_sgd_", "momentum_buffer_list", self, buffers);
  const cpu::SgdStep step{lr, momentum, dampening, weight_decay, nesterov, maximize, is_first_step};
  for (size_t i = 0; i < self.size(); ++i) {
    const Dense param(self[i]);
    const Tensor grad = to_contiguous(grads[i]);
    if (buffers.empty()) {
      cpu::sgd_step(self[i].dtype(), self[i].numel(), param.data(), grad.ptr<char>(), nullptr, step);
    } else {
      const Dense buffer(buffers[i]);
      cpu::sgd_step(self[i].dtype(), self[i].numel(), param.data(), grad.ptr<char>(), buffer.data(), step);
    }
  }
}

void adam(const char* name, bool decoupled, TensorList self, TensorList grads, TensorList averages,
          TensorList squares, TensorList largest, TensorList steps, double lr, double beta1, double beta2,
          double weight_decay, double eps, bool amsgrad, bool maximize) {
  check_params(name, self);
  check_list(name, "grads", self, grads);
  check_list(name, "exp_avgs", self, averages);
  check_list(name, "exp_avg_sqs", self, squares);
  if (amsgrad) check_list(name, "max_exp_avg_sqs", self, largest);
  check_steps(name, self, steps);
  for (size_t i = 0; i < self.size(); ++i) {
    const cpu::AdamStep step{lr, beta1, beta2, eps, weight_decay, count_of(steps[i]), decoupled, maximize};
    const Dense param(self[i]), average(averages[i]), square(squares[i]);
    const Tensor grad = to_contiguous(grads[i]);
    if (amsgrad) {
      const Dense top(largest[i]);
      cpu::adam_step(self[i].dtype(), self[i].numel(), param.data(), grad.ptr<char>(), average.data(),
                     square.data(), top.data(), step);
    } else {
      cpu::adam_step(self[i].dtype(), self[i].numel(), param.data(), grad.ptr<char>(), average.data(),
                     square.data(), nullptr, step);
    }
  }
}

void fused_adam(TensorList self, TensorList grads, TensorList averages, TensorList squares,
                TensorList largest, TensorList steps, double lr, double beta1, double beta2,
                double weight_decay, double eps, bool amsgrad, bool maximize) {
  adam("_fused_adam_", false, self, grads, averages, squares, largest, steps, lr, beta1, beta2, weight_decay,
       eps, amsgrad, maximize);
}
void fused_adamw(TensorList self, TensorList grads, TensorList averages, TensorList squares,
                 TensorList largest, TensorList steps, double lr, double beta1, double beta2,
                 double weight_decay, double eps, bool amsgrad, bool maximize) {
  adam("_fused_adamw_", true, self, grads, averages, squares, largest, steps, lr, beta1, beta2, weight_decay,
       eps, amsgrad, maximize);
}
void fused_adagrad(TensorList self, TensorList grads, TensorList sums, TensorList steps, double lr,
                   double lr_decay, double weight_decay, double eps, bool maximize) {
  check_params("_fused_adagrad_", self);
  check_list("_fused_adagrad_", "grads", self, grads);
  check_list("_fused_adagrad_", "state_sums", self, sums);
  check_steps("_fused_adagrad_", self, steps);
  for (size_t i = 0; i < self.size(); ++i) {
    const cpu::AdagradStep step{lr, lr_decay, weight_decay, eps, count_of(steps[i]), maximize};
    const Dense param(self[i]), sum(sums[i]);
    const Tensor grad = to_contiguous(grads[i]);
    cpu::adagrad_step(self[i].dtype(), self[i].numel(), param.data(), grad.ptr<char>(), sum.data(), step);
  }
}
}  // namespace

TL_KERNEL(_fused_sgd_, fused_sgd)
TL_KERNEL(_fused_adam_, fused_adam)
TL_KERNEL(_fused_adamw_, fused_adamw)
TL_KERNEL(_fused_adagrad_, fused_adagrad)

}  // namespace tl

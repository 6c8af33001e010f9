// Losses of each element by itself, and the gradients that programs call as operators. All are made of other
// operators. Operators with a common input are called in separate statements, because the order of calls
// decides the order in which their gradients are added.
#include <algorithm>
#include <numbers>

#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/fused/losses.h"
#include "ops/shared/elements.h"
#include "ops/shared/known_values.h"

namespace tl {

namespace {
bool are_floating(const Tensor& self, const Tensor& target) {
  return is_floating(self.dtype()) && is_floating(target.dtype());
}

// ---- differences -----------------------------------------------------------------------------------------
Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  if (are_floating(self, target))
    return reduced_losses("mse_loss", ops::squared_error(self, target), reduction);
  const Tensor difference = ops::sub(self, target);
  return reduced_losses("mse_loss", ops::mul(difference, difference), reduction);
}

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced_losses("l1_loss", ops::abs(ops::sub(self, target)), reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TL_CHECK(!(beta < 0), Runtime, "smooth_l1_loss does not support negative values for beta, got ", beta);
  if (beta == 0) return l1_loss(self, target, reduction);
  if (are_floating(self, target))
    return reduced_losses("smooth_l1_loss", ops::smooth_l1_error(self, target, Scalar(beta)), reduction);
  const Tensor size = ops::abs(ops::sub(self, target));
  const Tensor parabola = ops::mul(ops::mul(size, size), Scalar(0.5 / beta));
  const Tensor line = ops::sub(size, Scalar(0.5 * beta));
  const Tensor losses = ops::where_self(ops::lt(size, Scalar(beta)), parabola, line);
  return reduced_losses("smooth_l1_loss", losses, reduction);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TL_CHECK(delta > 0, Runtime, "huber_loss does not support non-positive values for delta, got ", delta);
  if (are_floating(self, target))
    return reduced_losses("huber_loss", ops::huber_error(self, target, Scalar(delta)), reduction);
  const Tensor size = ops::abs(ops::sub(self, target));
  const Tensor parabola = ops::mul(ops::mul(size, size), Scalar(0.5));
  const Tensor line = ops::mul(ops::sub(size, Scalar(0.5 * delta)), Scalar(delta));
  const Tensor losses = ops::where_self(ops::le(size, Scalar(delta)), parabola, line);
  return reduced_losses("huber_loss", losses, reduction);
}

// ---- likelihoods -----------------------------------------------------------------------------------------
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor losses = ops::neg(ops::log_sigmoid(ops::mul(self, target)));
  return reduced_losses("soft_margin_loss", losses, reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  TL_CHECK(!is_integral(self.dtype(), true) && !is_integral(target.dtype(), true), Runtime,
           "kl_div: Integral inputs not supported. Got ", scalar_type_name(self.dtype()), " and ",
           scalar_type_name(target.dtype()));
  if (log_target) {
    const Tensor factor = ops::exp(target);
    return reduced_losses("kl_div", ops::mul(factor, ops::sub(target, self)), reduction);
  }
  const Tensor nothing = ops::eq(target, Scalar(0));
  // 0 log 0 is 0, with a finite gradient.
  const Tensor safe = ops::where_self(nothing, Scalar(1.0), target);
  const Tensor own = ops::where_self(nothing, target, ops::mul(safe, ops::log(safe)));
  return reduced_losses("kl_div", ops::sub(own, ops::mul(target, self)), reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        int64_t reduction) {
  check_reduction("poisson_nll_loss", reduction);
  const Tensor rate = log_input ? ops::exp(input) : input;
  const Tensor log_rate = log_input ? input : ops::log(ops::add(input, Scalar(eps)));
  Tensor losses = ops::sub(rate, ops::mul(target, log_rate));
  if (full) {  // Stirling's approximation of the factorial's logarithm
    const Tensor many = ops::gt(target, Scalar(1));
    const Tensor count = ops::where_self(many, target, Scalar(2));
    const Tensor sum = ops::sub(ops::mul(count, ops::log(count)), count);
    const Tensor root = ops::mul(ops::log(ops::mul(count, Scalar(2 * std::numbers::pi))), Scalar(0.5));
    losses = ops::add(losses, ops::where_self(many, ops::add(sum, root), Scalar(0)));
  }
  return reduced_losses("poisson_nll_loss", losses, reduction);
}

// ---- binary cross-entropy --------------------------------------------------------------------------------
// The operators that only check are not for traces and handlers.
class OutsideOfTraces {
 public:
  OutsideOfTraces() {
    ThreadState state = capture_thread_state();
    for (const int layer : {TL_LAYER_TRACE, TL_LAYER_PYTHON, TL_LAYER_AUTOGRAD})
      state.excluded |= uint64_t{1} << layer;
    before_ = restore_thread_state(state);
  }
  ~OutsideOfTraces() { restore_thread_state(before_); }
  OutsideOfTraces(const OutsideOfTraces&) = delete;

 private:
  ThreadState before_;
};

void check_probabilities(const Tensor& self, const char* argument) {
  if (self.numel() == 0 || !has_known_values(self) || self.is_sparse()) return;
  const OutsideOfTraces guard;
  const Tensor inside = ops::logical_and(ops::ge(self, Scalar(0)), ops::le(self, Scalar(1)));
  const Tensor all = ops::to_device(ops::all(inside), Device{DeviceType::CPU});  // NaN is no probability
  TL_CHECK(*elements_of<bool>("binary_cross_entropy", all, 1), Runtime, "all elements of ", argument,
           " should be between 0 and 1");
}

constexpr double kTiny = 1e-12;

// The logarithm of numbers close to 0, with the derivative that it has at kTiny.
Tensor steep_log(const Tensor& x) {
  const Tensor fixed = ops::detach(x);
  const Tensor log = ops::where_self(ops::gt(fixed, Scalar(3.8e-44)), ops::log(fixed), Scalar(-100.0));
  return ops::add(log, ops::mul(ops::sub(x, fixed), Scalar(1 / kTiny)));
}

// The logarithm of x, at least -100, with a finite gradient.
Tensor bounded_log(const Tensor& x) {
  const Tensor usual = ops::gt(x, Scalar(kTiny));
  const Tensor log = ops::log(ops::where_self(usual, x, Scalar(1.0)));
  return ops::where_self(usual, log, steep_log(x));
}

// The logarithm of 1 - x, at least -100, with a finite gradient.
Tensor bounded_log_of_rest(const Tensor& x) {
  const Tensor rest = ops::rsub(x, Scalar(1));
  const Tensor usual = ops::gt(rest, Scalar(kTiny));
  const Tensor log = ops::log1p(ops::neg(ops::where_self(usual, x, Scalar(0.0))));
  return ops::where_self(usual, log, steep_log(rest));
}

// The losses have the shape of the input: neither weights nor factors may widen it.
void check_losses(const Tensor& losses, const Tensor& self) {
  TL_CHECK(std::ranges::equal(losses.sizes(), self.sizes()), Runtime, "output with shape ", self.sizes(),
           " doesn't match the broadcast shape ", losses.sizes());
}

Tensor weighted(const Tensor& losses, OptTensor weight) {
  if (!weight) return losses;
  const Tensor result = ops::mul(losses, *weight);
  check_losses(result, losses);
  return result;
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, OptTensor weight, int64_t reduction) {
  TL_CHECK(std::ranges::equal(self.sizes(), target.sizes()), Value, "Using a target size (torch.Size(",
           target.sizes(), ")) that is different to the input size (torch.Size(", self.sizes(),
           ")) is deprecated. Please ensure they have the same size.");
  TL_CHECK(self.dtype() == target.dtype(), Runtime, "Found dtype ", scalar_type_name(target.dtype()),
           " for the target but expected ", scalar_type_name(self.dtype()));
  TL_CHECK(is_floating(self.dtype()), NotImplemented, "\"binary_cross_entropy\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  check_probabilities(self, "input");
  check_probabilities(target, "target");
  const Tensor one = ops::mul(target, bounded_log(self));
  const Tensor rest = ops::rsub(target, Scalar(1));
  const Tensor zero = ops::mul(rest, bounded_log_of_rest(self));
  return reduced_losses("binary_cross_entropy", weighted(ops::neg(ops::add(one, zero)), weight), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, OptTensor weight,
                                        OptTensor pos_weight, int64_t reduction) {
  constexpr const char* name = "binary_cross_entropy_with_logits";
  TL_CHECK(std::ranges::equal(self.sizes(), target.sizes()), Value, "Target size (torch.Size(",
           target.sizes(), ")) must be the same as input size (torch.Size(", self.sizes(), "))");
  TL_CHECK(is_floating(target.dtype()) || is_complex(target.dtype()), Runtime, name,
           "(): the target must be floating-point, not ", scalar_type_name(target.dtype()));
  Tensor positive = ops::log_sigmoid(self);
  if (pos_weight) {
    const Tensor factor = ops::mul(ops::sub(*pos_weight, Scalar(1)), target);
    positive = ops::mul(positive, ops::add(factor, Scalar(1)));
    check_losses(positive, self);
  }
  const Tensor losses = ops::sub(ops::mul(ops::rsub(target, Scalar(1)), self), positive);
  return reduced_losses(name, weighted(losses, weight), reduction);
}

// ---- gradients -------------------------------------------------------------------------------------------
Tensor share(const Tensor& grad, const Tensor& losses, int64_t reduction) {
  return reduction == kMean ? ops::div(grad, Scalar(losses.numel())) : grad;
}

Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor derivative = ops::mul(ops::sub(self, target), Scalar(2));
  return ops::mul(derivative, share(grad, self, reduction));
}

Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                               int64_t reduction, double beta) {
  const Tensor derivative = ops::clamp(ops::div(ops::sub(self, target), Scalar(beta)), Scalar(-1), Scalar(1));
  return ops::mul(derivative, share(grad, self, reduction));
}

Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta) {
  const Tensor derivative = ops::clamp(ops::sub(self, target), Scalar(-delta), Scalar(delta));
  return ops::mul(derivative, share(grad, self, reduction));
}

Tensor soft_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                 int64_t reduction) {
  const Tensor sign = ops::neg(target);
  const Tensor derivative = ops::mul(sign, ops::sigmoid(ops::mul(ops::neg(target), self)));
  return ops::mul(derivative, share(grad, self, reduction));
}

Tensor binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     OptTensor weight, int64_t reduction) {
  const Tensor difference = ops::sub(self, target);
  const Tensor product = ops::mul(ops::rsub(self, Scalar(1)), self);
  const Tensor derivative = ops::div(difference, ops::clamp(product, Scalar(1e-12)));
  return weighted(ops::mul(derivative, share(grad, self, reduction)), weight);
}

Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim) {
  const std::vector<Tensor> halves = ops::chunk(self, 2, dim);
  const Tensor gate = ops::sigmoid(halves.at(1));
  const Tensor by_value = ops::mul(grad, gate);
  const Tensor share = ops::mul(ops::mul(grad, halves[0]), gate);
  const Tensor by_gate = ops::mul(share, ops::rsub(gate, Scalar(1)));
  return ops::cat(std::vector<Tensor>{by_value, by_gate}, dim);
}
}  // namespace

TL_KERNEL(mse_loss, mse_loss)
TL_KERNEL(l1_loss, l1_loss)
TL_KERNEL(smooth_l1_loss, smooth_l1_loss)
TL_KERNEL(huber_loss, huber_loss)
TL_KERNEL(soft_margin_loss, soft_margin_loss)
TL_KERNEL(kl_div, kl_div)
TL_KERNEL(poisson_nll_loss, poisson_nll_loss)
TL_KERNEL(binary_cross_entropy, binary_cross_entropy)
TL_KERNEL(binary_cross_entropy_with_logits, binary_cross_entropy_with_logits)
TL_KERNEL(mse_loss_backward, mse_loss_backward)
TL_KERNEL(smooth_l1_loss_backward, smooth_l1_loss_backward)
TL_KERNEL(huber_loss_backward, huber_loss_backward)
TL_KERNEL(soft_margin_loss_backward, soft_margin_loss_backward)
TL_KERNEL(binary_cross_entropy_backward, binary_cross_entropy_backward)
TL_KERNEL(glu_backward, glu_backward)

}  // namespace tl

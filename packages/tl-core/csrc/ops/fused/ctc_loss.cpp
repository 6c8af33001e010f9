// Connectionist temporal classification: checks, losses and gradient.
#include "kernels/cpu/fused/ctc_loss.h"

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/differentiated.h"
#include "tensor/geometry.h"

namespace tl {

namespace {

// ---- operands ---------------------------------------------------------------------------------------------

void check_operands(const Tensor& log_probs, const Tensor& targets, const Tensor& steps, const Tensor& counts,
                    int64_t blank) {
  TL_CHECK(is_floating(log_probs.dtype()), NotImplemented, "\"ctc_loss\" not implemented for '",
           scalar_type_name(log_probs.dtype()), "'");
  TL_CHECK(log_probs.dim() == 3, Runtime,
           "ctc_loss: expected log_probs of shape (steps, samples, classes), got ", log_probs.sizes());
  const int64_t samples = log_probs.size(1), classes = log_probs.size(2);
  TL_CHECK(targets.dim() == 2 && targets.size(0) == samples, Runtime, "ctc_loss: expected targets of shape (",
           samples, ", labels), got ", targets.sizes());
  for (const Tensor& t : {targets, steps, counts})
    TL_CHECK(is_integral(t.dtype(), false), Runtime, "ctc_loss: targets and lengths must be integral, got ",
             scalar_type_name(t.dtype()));
  for (const Tensor& t : {steps, counts})
    TL_CHECK(t.dim() == 1 && t.size(0) == samples, Runtime, "ctc_loss: expected ", samples, " lengths, got ",
             t.sizes());
  TL_CHECK(blank >= 0 && blank < classes, Runtime, "blank must be in label range: got ", blank, " of ",
           classes, " labels");
}

// Dense targets and lengths, within bounds.
class Operands {
 public:
  Operands(const Tensor& log_probs, const Tensor& targets, const Tensor& steps, const Tensor& counts,
           int64_t blank)
      : type_(accumulate_type(log_probs.dtype())),
        log_probs_(to_contiguous(to_dtype(log_probs, type_))),
        targets_(whole(targets)),
        steps_(whole(steps)),
        counts_(whole(counts)),
        shape_{log_probs.size(0), log_probs.size(1), log_probs.size(2), targets.size(1), blank} {
    if (log_probs.is_meta()) return;
    for (int64_t n = 0; n < shape_.samples; ++n) check_sample(n);
  }

  DType type() const { return type_; }
  const cpu::CtcShape& shape() const { return shape_; }
  cpu::CtcTargets targets() const {
    return {targets_.ptr<int64_t>(), steps_.ptr<int64_t>(), counts_.ptr<int64_t>()};
  }
  const char* log_probs() const { return log_probs_.ptr<char>(); }

 private:
  static Tensor whole(const Tensor& t) { return to_contiguous(to_dtype(t, DType::Int64)); }

  void check_sample(int64_t n) const {
    const auto [labels, steps, counts] = targets();
    TL_CHECK(steps[n] >= 0 && steps[n] <= shape_.steps, Runtime,
             "Expected input_lengths to have value at most ", shape_.steps, ", but got value ", steps[n]);
    TL_CHECK(counts[n] >= 0 && counts[n] <= shape_.labels, Runtime,
             "Expected target_lengths to have value at most ", shape_.labels, ", but got value ", counts[n]);
    for (int64_t i = n * shape_.labels; i < n * shape_.labels + counts[n]; ++i)
      TL_CHECK(labels[i] >= 0 && labels[i] < shape_.classes, Runtime, "ctc_loss: expected targets below ",
               shape_.classes, ", got ", labels[i]);
  }

  DType type_;
  Tensor log_probs_, targets_, steps_, counts_;
  cpu::CtcShape shape_;
};

std::tuple<Tensor, Tensor> ctc_losses(const Tensor& log_probs, const Tensor& targets, const Tensor& steps,
                                      const Tensor& counts, int64_t blank) {
  check_operands(log_probs, targets, steps, counts, blank);
  const Operands in(log_probs, targets, steps, counts, blank);
  const cpu::CtcShape& s = in.shape();
  const TensorOptions options{in.type(), log_probs.device()};
  const int64_t states = checked_add(checked_mul(s.labels, 2), 1);
  const Tensor losses = empty(DimVector{s.samples}, options),
               alphas = empty(DimVector{s.samples, s.steps, states}, options);
  if (!log_probs.is_meta() && s.samples != 0)
    cpu::ctc_kernels(in.type()).losses(s, in.targets(), in.log_probs(), losses.ptr<char>(),
                                       alphas.ptr<char>());
  return {to_dtype(losses, log_probs.dtype()), to_dtype(alphas, log_probs.dtype())};
}

// The operands of a gradient of losses: what the losses returned, and a gradient for each of them.
void check_gradient_operands(const CtcBackwardArgs& a) {
  const auto& [grad, log_probs, targets, steps, counts, losses, alphas, blank] = a;
  check_operands(log_probs, targets, steps, counts, blank);
  const int64_t samples = log_probs.size(1), states = checked_add(checked_mul(targets.size(1), 2), 1);
  TL_CHECK(grad.numel() == samples && losses.numel() == samples &&
               std::ranges::equal(alphas.sizes(), DimVector{samples, log_probs.size(0), states}),
           Runtime, "_ctc_backward: expected ", samples, " gradients and losses, and alphas of shape (",
           samples, ", ", log_probs.size(0), ", ", states, "), got ", grad.sizes(), ", ", losses.sizes(),
           " and ", alphas.sizes());
}

Tensor ctc_backward(const CtcBackwardArgs& a) {
  check_gradient_operands(a);
  const auto& [grad, log_probs, targets, steps, counts, losses, alphas, blank] = a;
  const Operands in(log_probs, targets, steps, counts, blank);
  const cpu::CtcShape& s = in.shape();
  const auto dense = [&](const Tensor& t) { return to_contiguous(to_dtype(t, in.type())); };
  const Tensor out = empty(log_probs.sizes(), {in.type(), log_probs.device()});
  if (out.is_meta() || out.numel() == 0) return to_dtype(out, log_probs.dtype());
  const Tensor g = dense(grad), loss = dense(losses), rows = dense(alphas);
  cpu::ctc_kernels(in.type()).backward(s, in.targets(), in.log_probs(), g.ptr<char>(), loss.ptr<char>(),
                                       rows.ptr<char>(), out.ptr<char>());
  return to_dtype(out, log_probs.dtype());
}

// ---- the gradient in operators, to be differentiated again ------------------------------------------------

constexpr double kImpossible = -1e30;  // finite, so that gradients are

Tensor blank_where(const Tensor& condition, const Tensor& t) {
  return ops::masked_fill_Scalar(t, ops::logical_not(condition), Scalar(kImpossible));
}

// The recursions of one call: rows are samples, columns states.
class Recursion {
 public:
  Recursion(const Tensor& log_probs, const Tensor& targets, const Tensor& steps, const Tensor& counts,
            int64_t blank)
      : log_probs_(log_probs),
        steps_(ops::unsqueeze(steps, 1)),
        ends_(ops::unsqueeze(ops::mul(counts, Scalar(2)), 1)),
        labels_(states_of(targets, counts, blank)),
        state_(ops::arange(Scalar(labels_.size(1)), {.dtype = DType::Int64, .device = labels_.device()})),
        inside_(ops::le(state_, ends_)) {
    const int64_t n = log_probs.size(0);
    emitted_ = ops::gather(
        log_probs, 2, ops::expand(ops::unsqueeze(labels_, 0), DimVector{n, labels_.size(0), labels_.size(1)}),
        false);
    const Tensor two_back = ops::narrow(labels_, 1, 0, std::max<int64_t>(labels_.size(1) - 2, 0)),
                 later = ops::narrow(labels_, 1, std::min<int64_t>(2, labels_.size(1)), two_back.size(1));
    const Tensor skips = ops::logical_and(ops::ne(later, Scalar(blank)), ops::ne(later, two_back));
    skips_ = ops::constant_pad_nd(skips, DimVector{labels_.size(1) - skips.size(1), 0}, Scalar(false));
  }

  // The probabilities that alignments pass each class, by step.
  Tensor occupancies(const Tensor& losses) const {
    const int64_t n = log_probs_.size(0);
    std::vector<Tensor> alphas(static_cast<size_t>(n)), rows(static_cast<size_t>(n));
    for (int64_t t = 0; t < n; ++t)
      alphas[static_cast<size_t>(t)] = alpha(t, t ? alphas[static_cast<size_t>(t - 1)] : Tensor());
    Tensor beta;
    for (int64_t t = n - 1; t >= 0; --t) {
      beta = this->beta(t, beta);
      const Tensor path = ops::sub(ops::add(alphas[static_cast<size_t>(t)], beta), emitted(t));
      const Tensor passes = ops::exp(ops::add(path, ops::unsqueeze(losses, 1)));
      const Tensor possible = ops::logical_and(ops::gt(path, Scalar(kImpossible / 2)),
                                               ops::lt(ops::unsqueeze(losses, 1), Scalar(-kImpossible / 2)));
      rows[static_cast<size_t>(t)] = ops::masked_fill_Scalar(passes, ops::logical_not(possible), Scalar(0));
    }
    const Tensor all = ops::stack(rows, 0);
    const Tensor index = ops::expand(ops::unsqueeze(labels_, 0), all.sizes());
    return ops::scatter_add(ops::zeros_like(log_probs_), 2, index, all);
  }

  // The steps that count, (steps, samples, 1).
  Tensor counted() const {
    const Tensor t =
        ops::arange(Scalar(log_probs_.size(0)), {.dtype = DType::Int64, .device = labels_.device()});
    return ops::unsqueeze(ops::lt(ops::unsqueeze(t, 1), ops::squeeze_dim(steps_, 1)), 2);
  }

 private:
  // Blank, label, blank, ..., blank; labels that do not count are blanks.
  static Tensor states_of(const Tensor& targets, const Tensor& counts, int64_t blank) {
    const Tensor k =
        ops::arange(Scalar(targets.size(1)), {.dtype = DType::Int64, .device = targets.device()});
    const Tensor labels =
        ops::masked_fill_Scalar(targets, ops::ge(k, ops::unsqueeze(counts, 1)), Scalar(blank));
    const Tensor pairs = ops::stack(std::vector<Tensor>{ops::full_like(labels, Scalar(blank)), labels}, 2);
    return ops::constant_pad_nd(ops::flatten_using_ints(pairs, 1, 2), DimVector{0, 1}, Scalar(blank));
  }

  Tensor emitted(int64_t t) const { return ops::select_int(emitted_, 0, t); }
  // Moved by `by` states, towards higher ones if positive.
  static Tensor moved(const Tensor& line, int64_t by) {
    const int64_t n = line.size(1), k = std::min(std::abs(by), n);
    return by > 0
               ? ops::constant_pad_nd(ops::narrow(line, 1, 0, n - k), DimVector{k, 0}, Scalar(kImpossible))
               : ops::constant_pad_nd(ops::narrow(line, 1, k, n - k), DimVector{0, k}, Scalar(kImpossible));
  }
  static Tensor sum_of(const Tensor& one, const Tensor& other, const Tensor& third) {
    return ops::logsumexp(ops::stack(std::vector<Tensor>{one, other, third}, 0), DimVector{0}, false);
  }
  Tensor alpha(int64_t t, const Tensor& before) const {
    if (t == 0) return blank_where(ops::logical_and(ops::lt(state_, Scalar(2)), inside_), emitted(0));
    const Tensor arrived = sum_of(before, moved(before, 1), blank_where(skips_, moved(before, 2)));
    return ops::clamp_min(blank_where(inside_, ops::add(arrived, emitted(t))), Scalar(kImpossible));
  }
  Tensor beta(int64_t t, const Tensor& after) const {
    const Tensor finals = ops::logical_and(ops::ge(state_, ops::sub(ends_, Scalar(1))), inside_);
    const Tensor last = ops::eq(steps_, Scalar(t + 1)), end = blank_where(finals, emitted(t));
    if (!after) return blank_where(last, end);
    const Tensor left = sum_of(after, moved(after, -1), moved(blank_where(skips_, after), -2));
    const Tensor inner = ops::clamp_min(
        blank_where(ops::gt(steps_, Scalar(t + 1)), ops::add(left, emitted(t))), Scalar(kImpossible));
    return ops::where_self(last, end, inner);
  }

  const Tensor& log_probs_;
  Tensor steps_, ends_, labels_, state_, inside_, emitted_, skips_;
};

Tensor ctc_gradient(const CtcGradientArgs& a) {
  const auto& [grad, log_probs, targets, steps, counts, losses, alphas, blank] = a;
  if (!is_differentiated(grad, log_probs))
    return ops::_ctc_backward(grad, log_probs, targets, steps, counts, losses, alphas, blank);
  check_gradient_operands({grad, log_probs, targets, steps, counts, losses, alphas, blank});
  const auto whole = [](const Tensor& t) { return ops::to_dtype(t, DType::Int64); };
  const Recursion recursion(log_probs, whole(targets), whole(steps), whole(counts), blank);
  const Tensor possible = ops::lt(losses, Scalar(-kImpossible / 2));
  const Tensor counted = ops::logical_and(recursion.counted(), ops::unsqueeze(possible, 1));
  const Tensor probabilities =
      ops::masked_fill_Scalar(ops::exp(log_probs), ops::logical_not(counted), Scalar(0));
  return ops::mul(ops::unsqueeze(grad, 1), ops::sub(probabilities, recursion.occupancies(losses)));
}

}  // namespace

TL_KERNEL(ctc_losses, ctc_losses)
TL_KERNEL(_ctc_backward, ctc_backward)
TL_KERNEL(_ctc_gradient, ctc_gradient)

}  // namespace tl

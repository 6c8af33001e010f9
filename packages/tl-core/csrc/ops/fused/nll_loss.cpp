// Negative log-likelihood and cross-entropy against class indices: checks, forward, backward, double
// backward.
#include "kernels/cpu/fused/nll_loss.h"

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/fused/losses.h"
#include "ops/shared/copy.h"
#include "ops/shared/expect.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// ---- checks -----------------------------------------------------------------------------------------------

void check_targets(IntSpan sizes, const Tensor& target) {
  const IntSpan positions = target.sizes();
  TL_CHECK(!sizes.empty(), Value, "Expected 1 or more dimensions (got 0)");
  TL_CHECK(sizes.size() == 1 || positions.empty() || sizes[0] == positions[0], Value,
           "Expected input batch_size (", sizes[0], ") to match target batch_size (", positions[0], ").");
  TL_CHECK(target.dtype() == DType::Int64 || target.dtype() == DType::UInt8, Runtime,
           "expected target dtype to be Long or Byte, but got ", scalar_type_name(target.dtype()));
  if (sizes.size() <= 2) {
    TL_CHECK(positions.size() <= 1, Runtime, "0D or 1D target tensor expected, multi-target not supported");
    TL_CHECK(target.numel() == (sizes.size() == 1 ? 1 : sizes[0]), Runtime,
             "size mismatch (got input: ", sizes, ", target: ", positions, ")");
    return;
  }
  TL_CHECK(
      positions.size() + 1 == sizes.size() && std::ranges::equal(positions.subspan(1), sizes.subspan(2)),
      Runtime, "Expected target size ",
      [&] {
        DimVector wanted{sizes[0]};
        for (int64_t s : sizes.subspan(2)) wanted.push_back(s);
        return wanted;
      }(),
      ", got ", positions);
}

void check_class_weight(OptTensor weight, int64_t classes) {
  TL_CHECK(!weight || (weight->dim() == 1 && weight->numel() == classes), Runtime,
           "weight tensor should be defined either for all ", classes,
           " classes or no classes but got weight tensor of shape: ", weight->sizes());
}

void check_floating_scores(const char* kernel, const Tensor& self) {
  TL_CHECK(is_floating(self.dtype()), NotImplemented, "\"", kernel, "\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
}

// ---- operands ---------------------------------------------------------------------------------------------

cpu::ClassShape class_shape(IntSpan sizes) {
  if (sizes.size() == 1) return {1, sizes[0], 1};
  return {sizes[0], sizes[1], checked_numel(sizes.subspan(2))};
}

// Dense int64 targets, within bounds.
class Targets {
 public:
  Targets(const Tensor& target, OptTensor weight, int64_t classes, int64_t ignored, DType dtype)
      : dense_(to_contiguous(to_dtype(target, DType::Int64))),
        weight_(weight ? to_contiguous(to_dtype(*weight, opmath_type(dtype))) : Tensor()),
        ignored_(ignored) {
    const int64_t* data = dense_.ptr<int64_t>();
    for (int64_t i = 0; i < dense_.numel(); ++i)
      TL_CHECK((data[i] >= 0 && data[i] < classes) || data[i] == ignored, Index, "Target ", data[i],
               " is out of bounds.");
  }
  cpu::ClassTargets get() const {
    return {dense_.ptr<int64_t>(), ignored_, weight_ ? weight_.data() : nullptr};
  }

 private:
  Tensor dense_, weight_;
  int64_t ignored_;
};

Tensor filled(double value, TensorOptions options) {
  const Tensor t = empty(DimVector{}, options);
  fill_elements(t, Scalar(value));
  return t;
}

// The reduced losses and the weights' total; log_sums may be undefined.
std::tuple<Tensor, Tensor> reduced_loss(const Tensor& self, const Tensor& x, const Tensor& target,
                                        OptTensor weight, int64_t reduction, int64_t ignored,
                                        const Tensor& log_sums) {
  const TensorOptions own{self.dtype(), self.device()}, computing{opmath_type(self.dtype()), self.device()};
  const Tensor each = reduction == kNone ? empty(target.sizes(), computing) : Tensor();
  if (self.is_meta())
    return {reduction == kNone ? empty(target.sizes(), own) : empty(DimVector{}, own),
            empty(DimVector{}, computing)};
  const cpu::ClassShape shape = class_shape(self.sizes());
  const Targets targets(target, weight, shape.classes, ignored, self.dtype());
  const cpu::ClassTotals totals =
      cpu::class_loss(self.dtype(), shape, x.ptr<char>(), targets.get(), log_sums ? log_sums.data() : nullptr,
                      each ? each.data() : nullptr);
  const Tensor total_weight = filled(totals.weight, computing);
  if (each) return {to_dtype(each, self.dtype()), total_weight};
  return {filled(reduction == kMean ? totals.loss / totals.weight : totals.loss, own), total_weight};
}

std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target, OptTensor weight,
                                            int64_t reduction, int64_t ignored) {
  check_targets(self.sizes(), target);
  check_floating_scores("nll_loss_out_frame", self);
  check_class_weight(weight, class_shape(self.sizes()).classes);
  return reduced_loss(self, self.is_meta() ? self : to_contiguous(self), target, weight, reduction, ignored,
                      {});
}

void check_loss_gradient(const Tensor& grad, const Tensor& target, const Tensor& total_weight,
                         int64_t reduction) {
  constexpr const char* op = "nll_loss_backward";
  expect_floating(op, grad);
  expect(op, "grad", grad, grad.dtype(), reduction == kNone ? target.sizes() : IntSpan());
  TL_CHECK(total_weight.numel() == 1 && is_floating(total_weight.dtype()), Runtime, op,
           "(): argument 'total_weight' must be one floating-point number, got ", total_weight.sizes(),
           " of ", dtype_name(total_weight.dtype()));
}

// What all losses share of their gradient.
struct LossGradient {
  Tensor grad;
  int64_t step;
  double factor;

  LossGradient(const Tensor& g, DType dtype, int64_t reduction, const Tensor& total_weight)
      : grad(to_contiguous(to_dtype(g, opmath_type(dtype)))), step(reduction == kNone ? 1 : 0), factor(1) {
    if (reduction == kMean) factor = 1 / load_scalar(total_weight.dtype(), total_weight.data()).to_double();
  }
};

Tensor nll_loss_backward(const Tensor& g, const Tensor& target, OptTensor weight, IntSpan sizes,
                         int64_t reduction, int64_t ignored, const Tensor& total_weight) {
  check_targets(sizes, target);
  check_class_weight(weight, class_shape(sizes).classes);
  check_loss_gradient(g, target, total_weight, reduction);
  const Tensor out = empty(sizes, {g.dtype(), g.device()});
  if (out.is_meta() || out.numel() == 0) return out;
  const cpu::ClassShape shape = class_shape(sizes);
  const Targets targets(target, weight, shape.classes, ignored, g.dtype());
  const LossGradient gradient(g, g.dtype(), reduction, total_weight);
  cpu::class_loss_backward(g.dtype(), shape, nullptr, targets.get(), nullptr,
                           {gradient.grad.data(), gradient.step, gradient.factor}, out.ptr<char>());
  return out;
}

std::tuple<Tensor, Tensor, Tensor> cross_entropy(const Tensor& self, const Tensor& target, OptTensor weight,
                                                 int64_t reduction, int64_t ignored) {
  check_floating_scores("log_softmax_lastdim_kernel_impl", self);
  check_targets(self.sizes(), target);
  const cpu::ClassShape shape = class_shape(self.sizes());
  check_class_weight(weight, shape.classes);
  const Tensor log_sums = empty(target.sizes(), {opmath_type(self.dtype()), self.device()});
  const Tensor x = self.is_meta() ? self : to_contiguous(self);
  if (!self.is_meta() && shape.classes > 0)
    cpu::class_log_sums(self.dtype(), shape, x.ptr<char>(), log_sums.data());
  auto [output, total] = reduced_loss(self, x, target, weight, reduction, ignored, log_sums);
  return {output, log_sums, total};
}

Tensor cross_entropy_backward(const CrossEntropyBackwardArgs& a) {
  const auto& [g, self, log_sums, total_weight, target, weight, reduction, ignored] = a;
  check_targets(self.sizes(), target);
  check_floating_scores("cross_entropy_backward", self);
  check_class_weight(weight, class_shape(self.sizes()).classes);
  check_loss_gradient(g, target, total_weight, reduction);
  expect("cross_entropy_backward", "log_sums", log_sums, opmath_type(self.dtype()), target.sizes());
  const Tensor out = empty(self.sizes(), {self.dtype(), self.device()});
  if (out.is_meta() || out.numel() == 0) return out;
  const cpu::ClassShape shape = class_shape(self.sizes());
  const Targets targets(target, weight, shape.classes, ignored, self.dtype());
  const LossGradient gradient(g, self.dtype(), reduction, total_weight);
  const Tensor x = to_contiguous(self), sums = to_contiguous(log_sums);
  cpu::class_loss_backward(self.dtype(), shape, x.ptr<char>(), targets.get(), sums.data(),
                           {gradient.grad.data(), gradient.step, gradient.factor}, out.ptr<char>());
  return out;
}

// With s the weighted gradient of each loss, the gradient of the scores is s (p - e), where p is their
// softmax and e is 1 at the target.
std::tuple<Tensor, Tensor> cross_entropy_double_backward(const CrossEntropyDoubleBackwardArgs& a) {
  const auto& [u, grad, self, total_weight, target, weight, reduction, ignored] = a;
  check_targets(self.sizes(), target);
  const int64_t dim = self.dim() == 1 ? 0 : 1;
  const Tensor index = ops::reshape(ops::to_dtype(target, DType::Int64), [&] {
    DimVector sizes(self.sizes());
    sizes[dim] = 1;
    return sizes;
  }());
  const Tensor counted = ops::ne(index, Scalar(ignored));
  const Tensor safe = ops::where_self(counted, index, Scalar(int64_t{0}));
  Tensor factor = ops::to_dtype(counted, self.dtype());
  if (weight) {
    const Tensor own =
        ops::index_select(ops::to_dtype(*weight, self.dtype()), 0, ops::reshape(safe, DimVector{-1}));
    factor = ops::mul(factor, ops::reshape(own, factor.sizes()));
  }
  if (reduction == kMean) factor = ops::div(factor, ops::to_dtype(total_weight, self.dtype()));
  const Tensor p = ops::softmax_int(self, dim);
  const Tensor mean = ops::sum_dim_IntList(ops::mul(u, p), DimVector{dim}, true);
  const Tensor each = ops::mul(factor, ops::sub(mean, ops::gather(u, dim, safe)));
  const Tensor grad_grad =
      reduction == kNone ? ops::reshape(each, grad.sizes()) : ops::reshape(ops::sum(each), grad.sizes());
  const Tensor g = reduction == kNone ? ops::reshape(grad, factor.sizes()) : grad;
  return {grad_grad, ops::mul(ops::mul(factor, g), ops::mul(p, ops::sub(u, mean)))};
}

Tensor nll_loss_nd(const Tensor& self, const Tensor& target, OptTensor weight, int64_t reduction,
                   int64_t ignored) {
  return std::get<0>(ops::nll_loss_forward(self, target, weight, reduction, ignored));
}

Tensor cross_entropy_of_classes(const Tensor& self, const Tensor& target, OptTensor weight, int64_t reduction,
                                int64_t ignored) {
  return std::get<0>(ops::_cross_entropy(self, target, weight, reduction, ignored));
}
}  // namespace

TL_KERNEL(nll_loss_forward, nll_loss_forward)
TL_KERNEL(_nll_loss_backward, nll_loss_backward)
TL_KERNEL(_cross_entropy, cross_entropy)
TL_KERNEL(_cross_entropy_backward, cross_entropy_backward)
TL_KERNEL(_cross_entropy_double_backward, cross_entropy_double_backward)
TL_KERNEL(nll_loss_nd, nll_loss_nd)
TL_KERNEL(cross_entropy_of_classes, cross_entropy_of_classes)

}  // namespace tl

// Cross-entropy against class indices or probabilities of classes, with labels that are smoothed; made of
// other operators.
#include <algorithm>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/fused/losses.h"

namespace tl {

namespace {
int64_t class_dim(const Tensor& self) { return self.dim() > 1 ? 1 : 0; }

// The weights of classes, in the shape in which they multiply scores.
Tensor along_classes(const Tensor& weight, const Tensor& scores) {
  if (scores.dim() < 2) return weight;
  DimVector sizes(static_cast<size_t>(scores.dim() - 1), 1);
  sizes[0] = -1;
  return ops::reshape(weight, sizes);
}

// ---- probabilities ---------------------------------------------------------------------------------------
void check_probabilities(const Tensor& self, const Tensor& target, OptTensor weight, int64_t ignored) {
  TL_CHECK(is_floating(target.dtype()), Runtime,
           "Expected floating point type for target with class probabilities, got ",
           scalar_type_name(target.dtype()));
  TL_CHECK(self.dim() > 0, Value, "Expected 1 or more dimensions (got 0)");
  TL_CHECK(ignored < 0, Runtime, "ignore_index is not supported for floating point target");
  if (!weight) return;
  const int64_t classes = self.size(class_dim(self));
  TL_CHECK(weight->dim() == 1 && weight->size(0) == classes, Runtime,
           "weight tensor should be defined either for all ", classes,
           " classes or no classes but got weight tensor of shape: ", weight->sizes());
}

Tensor loss_of_probabilities(const Tensor& self, const Tensor& target, OptTensor weight, int64_t reduction,
                             double smoothing) {
  const int64_t dim = class_dim(self);
  const double classes = static_cast<double>(self.size(dim));
  const Tensor wanted =
      smoothing > 0 ? ops::add(ops::mul(target, Scalar(1 - smoothing)), Scalar(smoothing / classes)) : target;
  Tensor entropy = ops::mul(ops::log_softmax_int(self, dim), wanted);
  if (weight) entropy = ops::mul(entropy, along_classes(*weight, self));
  const Tensor losses = ops::neg(ops::sum_dim_IntList(entropy, DimVector{dim}));
  return reduced_losses("cross_entropy_loss", losses, reduction);
}

// ---- class indices ---------------------------------------------------------------------------------------
// What is left of the loss where all classes are wanted alike.
Tensor spread_loss(const Tensor& scores, const Tensor& classes, OptTensor weight, int64_t reduction,
                   int64_t ignored) {
  const int64_t dim = class_dim(scores);
  const Tensor target = scores.dim() == 1 ? ops::reshape(classes, IntSpan()) : classes;
  const Tensor is_counted = ops::ne(target, Scalar(ignored));
  const Tensor weighted = weight ? ops::mul(scores, along_classes(*weight, scores)) : scores;
  const Tensor losses =
      ops::where_self(is_counted, ops::neg(ops::mean_dim(weighted, DimVector{dim})), Scalar(0.0));
  if (reduction != kMean) return reduced_losses("cross_entropy_loss", losses, reduction);
  if (!weight) return ops::div(ops::sum(losses), ops::sum(is_counted));
  const Tensor safe = ops::where_self(is_counted, target, Scalar(0));
  const Tensor own = ops::gather(*weight, 0, ops::reshape(safe, DimVector{-1}));
  const Tensor weights = ops::where_self(is_counted, ops::reshape(own, safe.sizes()), Scalar(0.0));
  return ops::div(ops::sum(losses), ops::sum(weights));
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, OptTensor weight, int64_t reduction,
                          int64_t ignored, double smoothing) {
  check_reduction("cross_entropy_loss", reduction);
  TL_CHECK(smoothing >= 0 && smoothing <= 1, Runtime,
           "label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
  if (std::ranges::equal(self.sizes(), target.sizes())) {
    check_probabilities(self, target, weight, ignored);
    return loss_of_probabilities(self, target, weight, reduction, smoothing);
  }
  const Tensor loss = std::get<0>(ops::_cross_entropy(self, target, weight, reduction, ignored));
  if (smoothing == 0) return loss;
  const Tensor scores = ops::log_softmax_int(self, class_dim(self));
  const Tensor spread = spread_loss(scores, target, weight, reduction, ignored);
  const Tensor own = ops::mul(loss, Scalar(1 - smoothing));
  return ops::add(own, ops::mul(spread, Scalar(smoothing)));
}
}  // namespace

TL_KERNEL(cross_entropy_loss, cross_entropy_loss)

}  // namespace tl

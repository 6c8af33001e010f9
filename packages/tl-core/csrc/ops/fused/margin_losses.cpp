// Losses of pairs, triplets and classes with a margin, made of other operators. Operators with a common input
// are called in separate statements, because the order of calls decides the order in which their gradients
// are added.
#include <algorithm>

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/fused/losses.h"

namespace tl {

namespace {
Tensor above_zero(const Tensor& t) { return ops::clamp_min(t, Scalar(0)); }

// ---- pairs -----------------------------------------------------------------------------------------------
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           int64_t reduction) {
  TL_CHECK(
      input1.dim() == input2.dim() && input2.dim() == target.dim(), Runtime,
      "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: torch.Size(",
      input1.sizes(), "), input2: torch.Size(", input2.sizes(), "), target: torch.Size(", target.sizes(),
      ") ");
  const Tensor sign = ops::neg(target);
  const Tensor product = ops::mul(sign, ops::sub(input1, input2));
  return reduced_losses("margin_ranking_loss", above_zero(ops::add(product, Scalar(margin))), reduction);
}

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin, int64_t reduction) {
  const Tensor gap = above_zero(ops::rsub(self, Scalar(margin)));
  const Tensor apart = ops::where_self(ops::ne(target, Scalar(1)), gap, Scalar(0));
  const Tensor together = ops::where_self(ops::ne(target, Scalar(-1)), self, Scalar(0));
  return reduced_losses("hinge_embedding_loss", ops::add(apart, together), reduction);
}

Tensor sum_of_products(const Tensor& a, const Tensor& b, int64_t dim) {
  return ops::sum_dim_IntList(ops::mul(a, b), DimVector{dim});
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             int64_t reduction) {
  const int64_t dims = target.dim();
  TL_CHECK(dims <= 1, Runtime, "0D or 1D target tensor expected, multi-target not supported, got ", dims,
           " dimensions");
  TL_CHECK(input1.dim() == dims + 1 && input2.dim() == dims + 1, Runtime, dims, "D target tensor expects ",
           dims + 1, "D input tensors, but found inputs with sizes ", input1.sizes(), " and ", input2.sizes(),
           ".");
  constexpr double tiny = 1e-12;
  const Tensor product = sum_of_products(input1, input2, dims);
  const Tensor square1 = ops::add(sum_of_products(input1, input1, dims), Scalar(tiny));
  const Tensor square2 = ops::add(sum_of_products(input2, input2, dims), Scalar(tiny));
  const Tensor cosine = ops::div(product, ops::sqrt(ops::mul(square1, square2)));
  const Tensor near = ops::where_self(ops::eq(target, Scalar(1)), ops::rsub(cosine, Scalar(1)), Scalar(0));
  const Tensor far =
      ops::where_self(ops::eq(target, Scalar(-1)), above_zero(ops::sub(cosine, Scalar(margin))), Scalar(0));
  return reduced_losses("cosine_embedding_loss", ops::add(near, far), reduction);
}

// ---- triplets --------------------------------------------------------------------------------------------
Tensor triplet_margin_loss(const TripletMarginLossArgs& a) {
  TL_CHECK(a.anchor.dim() == a.positive.dim() && a.positive.dim() == a.negative.dim(), Runtime,
           "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
           "but got: anchor ",
           a.anchor.dim(), "D, positive ", a.positive.dim(), "D, and negative ", a.negative.dim(),
           "D inputs");
  const auto distance = [&](const Tensor& x, const Tensor& y) {
    return ops::pairwise_distance(x, y, a.p, a.eps, false);
  };
  const Tensor near = distance(a.anchor, a.positive);
  Tensor far = distance(a.anchor, a.negative);
  if (a.swap) far = ops::minimum(far, distance(a.positive, a.negative));
  const Tensor gap = ops::sub(ops::add(near, Scalar(a.margin)), far);
  return reduced_losses("triplet_margin_loss", above_zero(gap), a.reduction);
}

// ---- classes ---------------------------------------------------------------------------------------------
Tensor rows_of(const Tensor& self) {
  const IntSpan sizes = self.sizes();
  TL_CHECK((sizes.size() == 2 && sizes[1] > 0) || (sizes.size() == 1 && sizes[0] > 0) || sizes.empty(),
           Runtime, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", sizes);
  return ops::reshape(self, DimVector{-1, sizes.empty() ? 1 : sizes.back()});
}

// The mean of no losses is 0 here.
Tensor reduced_or_zero(const char* name, const Tensor& losses, int64_t reduction) {
  return reduced_losses(name, losses, reduction == kMean && losses.numel() == 0 ? kSum : reduction);
}

void check_classes(const Tensor& target) {
  TL_CHECK(target.dtype() == DType::Int64, Runtime, "expected scalar type Long but found ",
           scalar_type_name(target.dtype()));
}

// The mean over the classes, for each sample, of the power of what is missing to the margin.
Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                         OptTensor weight, int64_t reduction) {
  check_reduction("multi_margin_loss", reduction);
  const double order = p.to_double();
  TL_CHECK(order == 1 || order == 2, Value, "only p == 1 and p == 2 supported");
  TL_CHECK(!weight || weight->dim() == 1, Value, "weight must be one-dimensional");
  const Tensor rows = rows_of(self);
  const int64_t samples = rows.size(0), classes = rows.size(1);
  TL_CHECK(target.dim() <= 1 && target.numel() == samples, Runtime,
           "target tensor should be 1-D with size equal to the batch size. Expected target size [", samples,
           "], but got ", target.sizes());
  TL_CHECK(!weight || weight->numel() == classes, Runtime, "inconsistent weight size, expected ", classes,
           " but got ", weight->sizes());
  check_classes(target);
  const Tensor index = ops::reshape(target, DimVector{-1, 1});
  const Tensor own = ops::gather(rows, 1, index);
  Tensor gaps = above_zero(ops::add(ops::rsub(own, margin), rows));
  if (order == 2) gaps = ops::mul(gaps, gaps);
  if (weight) {
    const Tensor factors = ops::gather(*weight, 0, ops::reshape(index, DimVector{-1}));
    gaps = ops::mul(gaps, ops::unsqueeze(factors, 1));
  }
  const Tensor is_other = ops::ne(ops::arange(Scalar(classes), {.device = self.device()}), index);
  const Tensor sums = ops::sum_dim_IntList(ops::where_self(is_other, gaps, Scalar(0)), DimVector{1});
  const Tensor losses = ops::div(sums, Scalar(classes));
  return reduced_or_zero("multi_margin_loss", ops::reshape(losses, target.sizes()), reduction);
}

// How many pairs of classes are in memory at once.
constexpr int64_t kPairs = 1 << 16;

// For each row, the sum of how far other classes are above a target less one.
Tensor sum_of_gaps(const Tensor& least, const Tensor& rows, const Tensor& is_target, const Tensor& is_other) {
  const Tensor own = ops::unsqueeze(least, 2);
  const Tensor gaps = above_zero(ops::add(own, ops::unsqueeze(rows, 1)));
  const Tensor relevant = ops::logical_and(ops::unsqueeze(is_target, 2), ops::unsqueeze(is_other, 1));
  return ops::sum_dim_IntList(ops::where_self(relevant, gaps, Scalar(0)), DimVector{1, 2});
}

Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  check_reduction("multilabel_margin_loss", reduction);
  const Tensor rows = rows_of(self);
  TL_CHECK(
      std::ranges::equal(target.sizes(), self.sizes()) || (self.dim() <= 1 && target.numel() == self.numel()),
      Runtime, "inconsistent target size: ", target.sizes(), " for input of size: ", self.sizes());
  check_classes(target);
  const int64_t classes = rows.size(1);
  const Tensor labels = ops::reshape(target, rows.sizes());
  // The labels end before the first that is negative.
  const Tensor valid = ops::to_dtype(ops::ge(labels, Scalar(0)), DType::Int64);
  const Tensor is_target = ops::ne(ops::cumprod(valid, 1), Scalar(0));
  const Tensor safe = ops::where_self(is_target, labels, Scalar(0));
  const Tensor counts =
      ops::scatter_add(ops::zeros_like(safe), 1, safe, ops::to_dtype(is_target, DType::Int64));
  const Tensor is_other = ops::logical_not(ops::ne(counts, Scalar(0)));
  const Tensor least = ops::rsub(ops::gather(rows, 1, safe), Scalar(1));
  const int64_t at_once = std::max<int64_t>(1, kPairs / std::max<int64_t>(1, classes * classes));
  const std::vector<Tensor> leasts = ops::split(least, at_once), parts = ops::split(rows, at_once),
                            targets = ops::split(is_target, at_once), others = ops::split(is_other, at_once);
  std::vector<Tensor> sums;
  for (size_t i = 0; i < leasts.size(); ++i)
    sums.push_back(sum_of_gaps(leasts[i], parts[i], targets[i], others[i]));
  const Tensor losses = ops::div(sums.size() > 1 ? ops::cat(sums) : sums[0], Scalar(classes));
  const Tensor each = self.dim() == 2 ? losses : ops::reshape(losses, IntSpan());
  return reduced_or_zero("multilabel_margin_loss", each, reduction);
}
}  // namespace

TL_KERNEL(margin_ranking_loss, margin_ranking_loss)
TL_KERNEL(hinge_embedding_loss, hinge_embedding_loss)
TL_KERNEL(cosine_embedding_loss, cosine_embedding_loss)
TL_KERNEL(triplet_margin_loss, triplet_margin_loss)
TL_KERNEL(multi_margin_loss, multi_margin_loss)
TL_KERNEL(multilabel_margin_loss, multilabel_margin_loss)

}  // namespace tl

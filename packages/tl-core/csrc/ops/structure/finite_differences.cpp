// Derivatives of sampled values by differences of neighbours; made of other operators.
#include <algorithm>
#include <initializer_list>

#include "ops.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// The distance of neighbours along a dimension: a number, or the coordinates of the samples.
struct Step {
  Scalar number{1};
  OptTensor coordinates = nullptr;
};

struct Weighted {
  Tensor weight, part;
};
Tensor weighted_sum(std::initializer_list<Weighted> terms) {
  Tensor total;
  for (const auto& [weight, part] : terms) {
    const Tensor product = ops::mul(weight, part);
    total = total ? ops::add(total, product) : product;
  }
  return total;
}
Tensor weighted_sum(const Tensor& a, double by_a, const Tensor& b, double by_b, const Tensor& c,
                    double by_c) {
  const Tensor first = ops::add(ops::mul(a, Scalar(by_a)), ops::mul(b, Scalar(by_b)));
  return ops::add(first, ops::mul(c, Scalar(by_c)));
}

Scalar twice(const Scalar& s) {
  if (s.is_complex()) return Complex128{2 * s.to_complex().re, 2 * s.to_complex().im};
  return s.is_float() ? Scalar(2 * s.to_double()) : Scalar(2 * s.to_int());
}

// ---- along one dimension ----------------------------------------------------------------------------------
class Along {
 public:
  Along(const Tensor& x, int64_t dim, int64_t edge_order)
      : x_(x), dim_(dim), n_(x.size(static_cast<int>(dim))), edge_order_(edge_order) {}

  Tensor derivative(const Step& step) const {
    if (!step.coordinates) return ops::cat(uniform(step.number), dim_);
    if (n_ > 2) return ops::cat(nonuniform(coordinates_along(*step.coordinates)), dim_);
    const Tensor gap =
        ops::sub(ops::select_int(*step.coordinates, 0, 1), ops::select_int(*step.coordinates, 0, 0));
    const Tensor derivative = ops::div(difference(0, 1), gap);
    return ops::cat(std::vector<Tensor>{derivative, derivative}, dim_);
  }

 private:
  Tensor slice(const Tensor& t, int64_t begin, int64_t end) const {
    return ops::narrow(t, dim_, begin, std::max<int64_t>(end - begin, 0));
  }
  Tensor part(int64_t begin, int64_t end) const { return slice(x_, begin, end); }
  // Between two neighbours.
  Tensor difference(int64_t a, int64_t b) const { return ops::sub(part(b, b + 1), part(a, a + 1)); }

  std::vector<Tensor> uniform(const Scalar& step) const {
    const Tensor inner = ops::div(ops::sub(part(2, n_), part(0, n_ - 2)), twice(step));
    if (edge_order_ == 1)
      return {ops::div(difference(0, 1), step), inner, ops::div(difference(n_ - 2, n_ - 1), step)};
    const Tensor left = weighted_sum(part(0, 1), -1.5, part(1, 2), 2.0, part(2, 3), -0.5);
    const Tensor right =
        weighted_sum(part(n_ - 3, n_ - 2), 0.5, part(n_ - 2, n_ - 1), -2.0, part(n_ - 1, n_), 1.5);
    return {ops::div(left, step), inner, ops::div(right, step)};
  }

  Tensor coordinates_along(const Tensor& coordinates) const {
    DimVector shape(static_cast<size_t>(x_.dim()), 1);
    shape[static_cast<size_t>(dim_)] = n_;
    return ops::reshape(coordinates, shape);
  }

  // a and b are the gaps on both sides of a sample.
  Tensor inner_of(const Tensor& a, const Tensor& b) const {
    const Tensor whole = ops::add(a, b);
    return weighted_sum({{ops::div(ops::neg(b), ops::mul(a, whole)), part(0, n_ - 2)},
                         {ops::div(ops::sub(b, a), ops::mul(a, b)), part(1, n_ - 1)},
                         {ops::div(a, ops::mul(b, whole)), part(2, n_)}});
  }
  Tensor left_of(const Tensor& a, const Tensor& b) const {
    const Tensor whole = ops::add(a, b), steep = ops::add(ops::mul(a, Scalar(2)), b);
    return weighted_sum({{ops::div(ops::neg(steep), ops::mul(a, whole)), part(0, 1)},
                         {ops::div(whole, ops::mul(a, b)), part(1, 2)},
                         {ops::div(ops::neg(a), ops::mul(b, whole)), part(2, 3)}});
  }
  Tensor right_of(const Tensor& a, const Tensor& b) const {
    const Tensor whole = ops::add(a, b), steep = ops::add(ops::mul(b, Scalar(2)), a);
    return weighted_sum({{ops::div(b, ops::mul(a, whole)), part(n_ - 3, n_ - 2)},
                         {ops::div(ops::neg(whole), ops::mul(a, b)), part(n_ - 2, n_ - 1)},
                         {ops::div(steep, ops::mul(b, whole)), part(n_ - 1, n_)}});
  }
  std::vector<Tensor> nonuniform(const Tensor& x) const {
    const Tensor gaps = ops::sub(slice(x, 1, n_), slice(x, 0, n_ - 1));
    const auto gap = [&](int64_t i) { return slice(gaps, i, i + 1); };
    const Tensor inner = inner_of(slice(gaps, 0, n_ - 2), slice(gaps, 1, n_ - 1));
    if (edge_order_ == 1)
      return {ops::div(difference(0, 1), gap(0)), inner, ops::div(difference(n_ - 2, n_ - 1), gap(n_ - 2))};
    return {left_of(gap(0), gap(1)), inner, right_of(gap(n_ - 3), gap(n_ - 2))};
  }

  const Tensor& x_;
  int64_t dim_, n_, edge_order_;
};

// ---- arguments --------------------------------------------------------------------------------------------
DimVector wrapped(const Tensor& self, std::optional<IntSpan> dims) {
  DimVector all;
  if (!dims)
    for (int64_t d = 0; d < self.dim(); ++d) all.push_back(d);
  else
    for (const int64_t d : *dims) all.push_back(wrap_dim(d, self.dim()));
  static_cast<void>(dim_mask(all, self.dim(), false));  // raises for one twice
  return all;
}

void check_step(const Tensor& self, int64_t dim, const Step& step, int64_t edge_order) {
  const int64_t n = self.dim() ? self.size(static_cast<int>(dim)) : 0;
  TL_CHECK(n >= edge_order + 1, Runtime,
           "torch.gradient expected each dimension size to be at least edge_order+1, but dimension ", dim,
           " has size ", n);
  if (!step.coordinates) return;
  TL_CHECK(step.coordinates->dim() == 1, Runtime,
           "torch.gradient expected each element of spacing to have one dimension, but got an element with ",
           step.coordinates->dim(), " dimensions!");
  TL_CHECK(step.coordinates->size(0) == n, Runtime,
           "torch.gradient expected each element of spacing to have as many coordinates as the input has ",
           "elements in that dimension: got ", step.coordinates->size(0), " for dimension ", dim, " of size ",
           n);
}

// `count` is the length of the list of distances, if there is one.
template <class StepOf>
std::vector<Tensor> derivatives(const Tensor& self, std::optional<IntSpan> dim, int64_t edge_order,
                                std::optional<size_t> count, StepOf step_of) {
  TL_CHECK(edge_order == 1 || edge_order == 2, Runtime,
           "torch.gradient only supports edge_order=1 and edge_order=2, got ", edge_order);
  const DimVector dims = wrapped(self, dim);
  TL_CHECK(!count || *count == dims.size(), Runtime,
           "torch.gradient expected spacing to be unspecified, a scalar or a list of length ", dims.size(),
           ", one a dimension, but got a list of length ", *count);
  for (size_t i = 0; i < dims.size(); ++i) check_step(self, dims[i], step_of(i), edge_order);
  std::vector<Tensor> results;
  for (size_t i = 0; i < dims.size(); ++i)
    results.push_back(Along(self, dims[i], edge_order).derivative(step_of(i)));
  return results;
}

std::vector<Tensor> over(const Tensor& self, const Scalar& step, std::optional<IntSpan> dim,
                         int64_t edge_order) {
  return derivatives(self, dim, edge_order, {}, [&](size_t) { return Step{step}; });
}
std::vector<Tensor> over(const Tensor& self, std::span<const TlValue> spacing, std::optional<IntSpan> dim,
                         int64_t edge_order) {
  return derivatives(self, dim, edge_order, spacing.size(),
                     [&](size_t i) { return Step{Scalar::from(spacing[i])}; });
}
std::vector<Tensor> over(const Tensor& self, TensorList spacing, std::optional<IntSpan> dim,
                         int64_t edge_order) {
  return derivatives(self, dim, edge_order, spacing.size(),
                     [&](size_t i) { return Step{Scalar(1), &spacing[i]}; });
}

// ---- overloads --------------------------------------------------------------------------------------------
std::optional<IntSpan> one(const std::optional<int64_t>& dim) {
  return dim ? std::optional(IntSpan(&*dim, 1)) : std::nullopt;
}
std::vector<Tensor> gradient_scalarint(const Tensor& self, const std::optional<Scalar>& spacing,
                                       std::optional<int64_t> dim, int64_t edge_order) {
  return over(self, spacing.value_or(Scalar(1)), one(dim), edge_order);
}
std::vector<Tensor> gradient_scalararray(const Tensor& self, const Scalar& spacing, IntSpan dim,
                                         int64_t edge_order) {
  return over(self, spacing, dim, edge_order);
}
std::vector<Tensor> gradient_array(const Tensor& self, IntSpan dim, int64_t edge_order) {
  return over(self, Scalar(1), dim, edge_order);
}
std::vector<Tensor> gradient_scalarrayint(const Tensor& self, std::span<const TlValue> spacing,
                                          std::optional<int64_t> dim, int64_t edge_order) {
  return over(self, spacing, one(dim), edge_order);
}
std::vector<Tensor> gradient_scalarrayarray(const Tensor& self, std::span<const TlValue> spacing, IntSpan dim,
                                            int64_t edge_order) {
  return over(self, spacing, dim, edge_order);
}
std::vector<Tensor> gradient_tensorarrayint(const Tensor& self, TensorList spacing,
                                            std::optional<int64_t> dim, int64_t edge_order) {
  return over(self, spacing, one(dim), edge_order);
}
std::vector<Tensor> gradient_tensorarray(const Tensor& self, TensorList spacing, IntSpan dim,
                                         int64_t edge_order) {
  return over(self, spacing, dim, edge_order);
}
}  // namespace

TL_KERNEL(gradient_scalarint, gradient_scalarint)
TL_KERNEL(gradient_scalararray, gradient_scalararray)
TL_KERNEL(gradient_array, gradient_array)
TL_KERNEL(gradient_scalarrayint, gradient_scalarrayint)
TL_KERNEL(gradient_scalarrayarray, gradient_scalarrayarray)
TL_KERNEL(gradient_tensorarrayint, gradient_tensorarrayint)
TL_KERNEL(gradient_tensorarray, gradient_tensorarray)

}  // namespace tl
